"""Certificates: a CA, server and client certificates, renewal, and the serving TLS context.

Those that Sluice makes for itself, in a Secret, are rotated by `webhook/certificates`.
"""
