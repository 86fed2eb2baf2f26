"""The state of a Workload in one word, as lists and pages show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.kube.condition_types import ADMITTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import find, holds

PENDING, INACTIVE = "Pending", "Inactive"
_REACHED: Final = (FINISHED, ADMITTED, QUOTA_RESERVED)
"""Conditions, the latest in a life first."""


def workload_state(workload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state of a Workload in one word, and the message of the condition that it comes from."""
    for word in _REACHED:
        if holds(dict(workload), word):
            return word, str((find(dict(workload), word) or {}).get("message") or "")
    waiting = find(dict(workload), QUOTA_RESERVED) or {}
    word = INACTIVE if workload["spec"].get("active") is False else PENDING
    return word, str(waiting.get("message") or "")
