"""Pending queues: the order of each ClusterQueue's waiting workloads, which are parked, and what wakes them."""
