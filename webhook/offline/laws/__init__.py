"""What rule files promise, tried out on random clusters: the clusters, the laws, the search for a counterexample."""
