"""The edge: who reads, what he asks for, and the routes that answer."""
