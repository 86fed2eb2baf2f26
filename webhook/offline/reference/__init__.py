"""Reference pages and JSON Schemas, made from the code."""
