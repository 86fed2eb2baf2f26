"""Who owns how much of what, who uses it, and who used it lately: trees of ClusterQueues and cohorts."""
