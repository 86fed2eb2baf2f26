"""The queue core in a cluster: rounds of decisions, and what is written of them into Workloads and queues."""
