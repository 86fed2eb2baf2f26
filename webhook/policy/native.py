"""The fragment of an ApplyConfiguration as the API server hands it to the structured merge. JSON patches go elsewhere.

Differs from the API server in one thing, on purpose: it refuses lists and maps written out inside lists and maps, and
nulls in them, because its conversion stops half-way there. Ours go in.
"""

from __future__ import annotations

from typing import Any

from webhook.cel.values import ObjectValue, Optional, TypeValue, Uint
from webhook.kube.merge import Foreign


def native(value: ObjectValue) -> dict[str, Any]:
    """Give the fields of an object as JSON. A field that is null or of a type that JSON has not becomes `Foreign`."""
    return {name: _field(inner) for name, inner in value.fields.items()}


def _field(value: Any) -> Any:
    if value is None:
        return Foreign("NULL_VALUE")
    if isinstance(value, list) and not value:
        # The API server makes an empty list of the language null.
        return None
    return _inner(value)


def _inner(value: Any) -> Any:
    if isinstance(value, ObjectValue):
        return native(value)
    if isinstance(value, Optional):
        return _field(value.value) if value.present else None
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, list):
        return [_inner(item) for item in value]
    if isinstance(value, dict):
        return _map(value)
    if value is None or (isinstance(value, (str, bool, int, float)) and not isinstance(value, Uint)):
        return value
    return Foreign(str(int(value)) if isinstance(value, Uint) else str(value))


def _map(value: dict[Any, Any]) -> Any:
    for key in value:
        if not isinstance(key, str):
            return Foreign(f"map key '{key}' is of type {type(key).__name__}, not string")
    return {key: _inner(item) for key, item in value.items()}
