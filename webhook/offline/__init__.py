"""What a policy repository runs without a cluster: suites, lint, dry-run, plan, explain."""
