"""`sluice explain`: why a verdict is what it is, policy by policy and clause by clause."""
