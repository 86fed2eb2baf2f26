"""The edge: who reads, what they ask for, and the routes that answer."""
