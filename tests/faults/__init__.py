"""What a cluster may do to Sluice: each fault under load, held against laws that an independent judge counts.

`judge` watches Workloads, Jobs and ClusterQueues; `proxy` stands between a replica and the API server; `scene` has
both, a control plane and two replicas. Each fault is a file of its own. `make faults` runs them at full size.
"""
