"""The controller of the admission check `kueue.x-k8s.io/provisioning-request`: asks a cluster autoscaler for nodes."""
