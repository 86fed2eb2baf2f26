"""Structured merge of an ApplyConfiguration into an object: maps by key, lists of named items by their name.

Without a schema: which lists are maps, and which are atomic, is read off the items.
"""

from __future__ import annotations

from typing import Any

from webhook.kube.gvk import GroupVersionKind


class MergeError(Exception):
    """A fragment does not go with the object."""


def apply_configuration(obj: dict[str, Any], fragment: dict[str, Any], schema: GroupVersionKind) -> dict[str, Any]:
    """Give the object with the fragment merged in; what the fragment does not name is shared."""
    merged: dict[str, Any] = _merge(obj, fragment)
    return merged


def _merge(a: Any, b: Any) -> Any:
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **{k: _merge(a[k], v) if k in a else v for k, v in b.items()}}
    if isinstance(a, list) and isinstance(b, list) and all(isinstance(x, dict) and "name" in x for x in (*a, *b)):
        new = {x["name"]: x for x in b}
        kept = [_merge(x, new.pop(x["name"])) if x["name"] in new else x for x in a]
        return [*kept, *new.values()]
    return b
