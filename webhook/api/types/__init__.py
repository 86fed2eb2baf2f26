"""The API types: one file a kind, and the words that they are written with."""
