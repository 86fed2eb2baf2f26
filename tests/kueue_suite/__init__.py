"""Kueue's own integration tests, with `sluice serve` in the place of its manager."""
