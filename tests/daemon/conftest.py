"""What every test of the running process may ask for: its folder of policies."""

from tests.daemon.serving import policies

__all__ = ["policies"]
