"""Benchmarks: figures side by side in one run, never asserted by a test."""
