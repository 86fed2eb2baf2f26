"""Which waiting workloads count as alike: of those the first stands for all, and what it waits for all wait for.

Alike are workloads of one namespace that ask the same at the same priority, and do not differ in anything that the
rules in force look at when they decide. As in Kueue, age is left out where it only says who may preempt more.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from webhook.queue.flavors.request_plan import Shape
from webhook.queue.model import Workload
from webhook.queue.rules import Rules

DECIDING: Final = ("admit", "strict", "reserves", "yields", "park")
"""Points whose answer about one workload must not be taken for another's where the workloads differ."""
PREEMPTING: Final = ("candidate", "victim_order")
AGE: Final = frozenset({"queued_at", "created", "uid", "name", "first"})
SHAPED: Final = frozenset({"pod_sets", "priority", "namespace"})
"""Fields that are in the key of a class anyway."""
OWN: Final = "workload"
FAILED: Final = frozenset({"Retry", "Rejected"})


def fields_read(rules: Rules) -> tuple[str, ...] | None:
    """Give the fields that tell workloads of one shape apart; None where each is a class of its own."""
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
    """Give the key of the class of a workload; what cannot be admitted as it stands is alone in its class."""
    failed = workload.checks and not FAILED.isdisjoint(workload.checks.values())
    if fields is None or workload.problem or failed:
        return (workload.key,)
    base = (shape, workload.priority, workload.namespace, lane)
    return (*base, *(_hashable(getattr(workload, name)) for name in fields)) if fields else base


def _hashable(value: Any) -> Hashable:
    if isinstance(value, str | int):
        return value
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
