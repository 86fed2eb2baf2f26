"""What waits in each ClusterQueue: its order, what is parked, and what wakes it."""
