"""A real Kubernetes control plane for tests, built from source and started on free loopback ports.

`build` makes the binaries once, `cluster` starts and stops them, `client` talks to them, `fixtures` gives them to
pytest; `python -m tests.controlplane` is the command line. Nothing here knows of Sluice.
"""
