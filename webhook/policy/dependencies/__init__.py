"""Which parts of the object an expression can read, and a mutation can write."""
