"""Value types of the Kubernetes API: quantity, kinds, selectors, JSON patch, merge. No client, no I/O."""
