"""Commands about queues, without a cluster: planned, simulated, asked for what they decided. A file a command."""
