"""Names of Kubernetes, Kueue and Sluice that every layer uses: API groups and well-known labels."""

from __future__ import annotations

from typing import Final

KUEUE: Final = "kueue.x-k8s.io"
SLUICE: Final = "sluice.dev"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that the API server gives every Namespace: its name."""
MANAGED: Final = ("sluice.dev/managed", "true")
"""The label by which a Namespace opts in, where an installation chooses no other."""
