"""The status and metrics of ClusterQueues and LocalQueues, counted from their Workloads."""
