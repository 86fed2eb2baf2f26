"""Nodes to a checked tree: types, overloads, and what the API server refuses before it runs anything."""
