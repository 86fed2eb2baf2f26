"""Lenient readers that lint rules share: policies, expressions, quotas, amounts."""
