"""Whether a ClusterQueue or a LocalQueue is stopped, as its `spec.stopPolicy` says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.kube.fields import at


def is_stopped(queue: Mapping[str, Any]) -> bool:
    """Return whether a queue is stopped (`stopPolicy` Hold or HoldAndDrain)."""
    return (at(queue, ("spec", "stopPolicy")) or "None") != "None"
