"""What every test folder may ask for: the real control plane (built on first use)."""

from tests.controlplane.fixtures import control_plane, kube, namespace

__all__ = ["control_plane", "kube", "namespace"]
