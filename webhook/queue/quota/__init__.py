"""Quota and its usage now and in the past: trees of ClusterQueues and cohorts."""
