"""Kubernetes objects become what the queue core reads: a snapshot, or events."""
