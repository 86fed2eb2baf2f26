"""Policies tried on sample objects, for rules that no text can decide."""
