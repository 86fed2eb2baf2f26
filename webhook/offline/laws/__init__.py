"""What rule files promise, tried out on random clusters: worlds, the laws, the search for a counterexample."""
