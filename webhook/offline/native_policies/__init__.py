"""`sluice generate native`: policies of the API server itself, made from ours."""
