"""Certificates: a CA, server and client certificates, renewal, and the serving TLS context."""
