"""Reads Kubernetes objects into the queue core's model: a snapshot, or events."""
