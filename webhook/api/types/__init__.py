"""The API types, one file per kind, and the field types that they share."""
