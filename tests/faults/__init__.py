"""What a cluster may do to Sluice: each fault under load, held against laws that an independent judge counts.

`judge` watches Workloads, Jobs and ClusterQueues; `proxy` stands between a replica and the API server;
`two_replicas` has both, and a control plane. Each fault is a file of its own. `make faults` runs them at full size.
"""
