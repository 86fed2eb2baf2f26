"""The queue core in a cluster: from the objects of the view to decisions and the order of pending workloads."""
