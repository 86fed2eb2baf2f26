"""Certificates: an authority, a leaf for the server, rotation, and the context that serves them. Holds no key."""
