"""Our CEL against the API server's own: generated expressions, both answers compared."""
