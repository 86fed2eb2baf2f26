"""Fields of objects, by their path."""

from __future__ import annotations

from typing import Any


def at(obj: Any, path: tuple[str, ...]) -> Any:
    """Return the value at a path of keys, None if there is none."""
    for step in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj
