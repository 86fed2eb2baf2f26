"""What is a Kubernetes object, and how a document that is none is told: the same in every command."""

from __future__ import annotations

from typing import Any, Final

from webhook.diagnostics import Diagnostic, distance
from webhook.documents import Document

_MESSAGE: Final = "not a Kubernetes object: apiVersion and kind are required"
_NEAR: Final = {"apiVersion": 2, "kind": 1}
"""The fields that every object has, and the edit distance up to which another key is taken for one of them.

It is less than that of `nearest`: `version` is three from `apiVersion`, and a key of other tools.
"""


def is_object(value: Any) -> bool:
    """Return whether a value has what every Kubernetes object has: apiVersion, kind, and metadata, if any, as a map."""
    return _has_type(value) and isinstance(value.get("metadata") or {}, dict)


def meant_as_object(value: Any) -> bool:
    """Return whether a value has a field that all objects have: it is one with a mistake, not another tool's."""
    return isinstance(value, dict) and not value.keys().isdisjoint((*_NEAR, "metadata"))


def no_object(document: Document) -> Diagnostic:
    """Return the finding (LOAD002) about a document that is no object: at the key that is wrong, else at its start."""
    value = document.value
    if _has_type(value):
        return document.diagnostic("LOAD002", ("metadata",), "metadata must be a map with a name")
    there = [field for field in _NEAR if isinstance(value, dict) and field in value]
    for field in _NEAR:
        if field in there and not _is_text(value[field]):
            return document.diagnostic("LOAD002", (field,), _MESSAGE, hint=f"{field} must be a string")
        if field not in there and (near := _near(field, value)):
            return document.diagnostic("LOAD002", (near,), _MESSAGE, key=True, hint=f'did you mean "{field}"?')
    missing = [field for field in _NEAR if field not in there]
    hint = f"add {missing[0]}" if there else ""
    return document.diagnostic("LOAD002", tuple(there), _MESSAGE, key=True, hint=hint)


def _has_type(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(value.get(field)) for field in _NEAR)


def _near(field: str, value: Any) -> str:
    """Return the key that was meant as a field, empty where none is near."""
    keys = [key for key in value if isinstance(key, str) and key not in _NEAR] if isinstance(value, dict) else []
    near, key = min(((distance(field, key), key) for key in keys), default=(len(field), ""))
    return key if near <= _NEAR[field] else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""
