"""The status of ClusterQueues and LocalQueues, and their metrics: counted from their Workloads."""
