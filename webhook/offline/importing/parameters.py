"""The parameters of a constraint: the schema that a CRD can have, and the defaults that the API server fills in."""

from __future__ import annotations

from typing import Any, Final

from webhook.offline.importing.imported import Object

ANYTHING: Final[Object] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_WHOLE: Final = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")


def structural(schema: Any) -> Any:
    """Return a schema with a type at each level: templates of an early version need none, and a CRD does."""
    if not isinstance(schema, dict):
        return schema
    made: Object = dict(schema)
    if isinstance(fields := schema.get("properties"), dict):
        made["properties"] = {name: structural(inner) for name, inner in fields.items()}
    for below in ("items", "additionalProperties"):
        if below in schema:
            made[below] = structural(schema[below])
    if "type" in schema or any(schema.get(word) for word in _WHOLE):
        return made
    if "items" in schema:
        return {"type": "array", **made}
    if "properties" in schema or "additionalProperties" in schema:
        return {"type": "object", **made}
    return {"x-kubernetes-preserve-unknown-fields": True, **made}


def defaulted(value: Any, schema: Any) -> Any:
    """Return a value with the defaults of its schema, as the API server stores it."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        return [defaulted(item, schema.get("items")) for item in value]
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    missing = {
        name: inner["default"]
        for name, inner in fields.items()
        if isinstance(inner, dict) and "default" in inner and _absent(value, name, inner)
    }
    others = schema.get("additionalProperties")
    return {name: defaulted(item, fields.get(name, others)) for name, item in {**value, **missing}.items()}


def _absent(value: Object, name: str, schema: Object) -> bool:
    return name not in value or (value[name] is None and not schema.get("nullable"))
