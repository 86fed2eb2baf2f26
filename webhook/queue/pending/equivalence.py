"""Equivalence classes of waiting workloads: if the first of a class does not fit, none of the class does.

Workloads are equivalent if they have the same namespace, requests and priority, and do not differ in any field that
the rules in force read. As in Kueue, age is ignored where it only affects which victims may be preempted.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from webhook.queue.flavors.request_plan import Shape
from webhook.queue.model import Workload
from webhook.queue.rules import Rules

DECIDING: Final = ("admit", "strict", "reserves", "yields", "park")
"""Rule points whose answer for one workload holds for another only if the fields they read are equal."""
PREEMPTING: Final = ("candidate", "victim_order")
AGE: Final = frozenset({"queued_at", "created", "uid", "name", "first"})
SHAPED: Final = frozenset({"pod_sets", "priority", "namespace"})
"""Fields that are always part of a class's key."""
OWN: Final = "workload"
FAILED: Final = frozenset({"Retry", "Rejected"})


def fields_read(rules: Rules) -> tuple[str, ...] | None:
    """Return the further fields that must be equal within a class; None if each workload is a class of its own."""
    found: set[str] = set()
    for point in (*DECIDING, *PREEMPTING):
        read = rules.reads.get(point, frozenset())
        if OWN in read:
            return None
        fields = {name.removeprefix("workload.") for name in read if name.startswith("workload.")}
        found |= fields - AGE if point in PREEMPTING else fields
        if any(name.startswith("facts.user_") or name == "facts" for name in read):
            found.add("user")
    return tuple(sorted(found - SHAPED)) if "key" not in found else None


def key_of_class(workload: Workload, shape: Shape, fields: tuple[str, ...] | None, lane: str) -> Hashable:
    """Return the key of a workload's class; a workload that cannot be admitted as it is forms a class of its own."""
    failed = workload.checks and not FAILED.isdisjoint(workload.checks.values())
    if fields is None or workload.problem or failed:
        return (workload.key,)
    base = (shape, workload.priority, workload.namespace, lane)
    return (*base, *(_hashable(getattr(workload, name)) for name in fields)) if fields else base


def _hashable(value: Any) -> Hashable:
    if isinstance(value, str | int):
        return value
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
