"""Commands about the queues of a cluster: shown, explained, stopped. A file a command."""
