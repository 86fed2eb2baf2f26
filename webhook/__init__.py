"""Sluice: the policy-as-code gate of a shared GPU cluster."""

__version__ = "0.1.0"
