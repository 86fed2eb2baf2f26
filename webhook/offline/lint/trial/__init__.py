"""Policies evaluated on sample objects, for rules that static analysis cannot decide."""
