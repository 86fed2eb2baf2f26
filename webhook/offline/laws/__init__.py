"""Property tests of queue rules (`laws`): random clusters, the laws, and the search for a counterexample."""
