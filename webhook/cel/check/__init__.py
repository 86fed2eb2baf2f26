"""The type checker: nodes to a checked tree with types and overloads, and the API server's further validation."""
