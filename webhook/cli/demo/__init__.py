"""What stands in for a cluster in `sluice run`: API server, kubelet, tables of what happened."""
