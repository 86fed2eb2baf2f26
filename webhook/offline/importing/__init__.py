"""Policies of Kyverno and Gatekeeper as policies of the API server, with their tests as suites."""
