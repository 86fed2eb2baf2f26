"""Reads and sets conditions in the status of an object. Pure; the time is a parameter, as text."""

from __future__ import annotations

from typing import Any, Final

MESSAGE_LIMIT: Final = 1024

Object = dict[str, Any]
Conditions = list[dict[str, Any]]


def conditions_of(obj: Object) -> Conditions:
    """Return the conditions of an object; an empty list if it has none."""
    found = (obj.get("status") or {}).get("conditions")
    return found if isinstance(found, list) else []


def find(obj: Object, type_: str) -> dict[str, Any] | None:
    """Return one condition, or None."""
    for condition in conditions_of(obj):  # most of what is asked of a Workload: a generator takes twice as long
        if condition.get("type") == type_:
            return condition
    return None


def holds(obj: Object, type_: str) -> bool:
    """Return whether a condition is True."""
    return (find(obj, type_) or {}).get("status") == "True"


def with_condition(
    conditions: Conditions, type_: str, status: bool, reason: str, message: str, now: str, generation: int = 0
) -> Conditions:
    """Return the conditions with one set; its transition time changes only if its status does."""
    text = "True" if status else "False"
    old = next((c for c in conditions if c.get("type") == type_), None)
    new: dict[str, Any] = {
        "type": type_,
        "status": text,
        "reason": reason,
        "message": message[:MESSAGE_LIMIT],
        "lastTransitionTime": old["lastTransitionTime"] if old and old.get("status") == text else now,
    }
    if generation:
        new["observedGeneration"] = generation
    if old is None:
        return [*conditions, new]
    return [new if c is old else c for c in conditions]


def same(obj: Object, type_: str, status: bool, reason: str, message: str) -> bool:
    """Return whether a condition already has these values, so that nothing has to be written."""
    old = find(obj, type_) or {}
    return (old.get("status"), old.get("reason"), old.get("message")) == (
        "True" if status else "False",
        reason,
        message[:MESSAGE_LIMIT],
    )
