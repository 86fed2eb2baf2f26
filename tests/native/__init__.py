"""Policies and objects for the comparison with the API server's own engine; `tests/e2e/native.py` runs them."""
