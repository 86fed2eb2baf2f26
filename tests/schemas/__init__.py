"""Writes `webhook/kube/schemas/*.json` from the OpenAPI documents of a real API server."""
