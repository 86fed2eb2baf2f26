"""The queue core alone, without an API server: what its decisions cost, and what its long life does to it."""
