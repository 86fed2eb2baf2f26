"""Makes the schema of an API type: structural OpenAPI for CRDs, JSON Schema for editors."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import inspect as types

from webhook.api.types.fields import BOUNDS, Api

_SIMPLE: Final[dict[type, str]] = {
    types.StrType: "string",
    types.BoolType: "boolean",
    types.IntType: "integer",
    types.FloatType: "number",
}
_LENGTHS: Final = {"string": "Length", "array": "Items", "object": "Properties"}


def structural(struct: type[Api]) -> dict[str, Any]:
    """Return the type as a structural schema (apiextensions.k8s.io/v1): no references, defaults filled in."""
    return _schema(types.type_info(struct))


def _schema(info: types.Type) -> dict[str, Any]:
    if isinstance(info, types.Metadata):
        extra = dict(info.extra_json_schema or {})
        return _bounded({**_schema(info.type), **extra}, extra.get(BOUNDS) or {})
    if isinstance(info, types.UnionType):
        return _union(info)
    if isinstance(info, types.StructType):
        return _struct(info)
    if isinstance(info, types.LiteralType):
        return {"type": "string", "enum": sorted(cast("tuple[str, ...]", info.values))}
    if isinstance(info, types.ListType):
        return _bounded({"type": "array", "items": _schema(info.item_type)}, _own_bounds(info))
    if isinstance(info, types.DictType):
        values = _schema(info.value_type)
        return _bounded({"type": "object", **({"additionalProperties": values} if values else {})}, _own_bounds(info))
    if isinstance(info, types.AnyType):
        return {}
    return _bounded({"type": _SIMPLE[type(info)]}, _own_bounds(info))


def _union(info: types.UnionType) -> dict[str, Any]:
    """`T | None` is T; a number or a text is Kubernetes' int-or-string, whose `type` must be left out."""
    members = [t for t in info.types if not isinstance(t, types.NoneType)]
    if len(members) == 1:
        return _schema(members[0])
    return {"anyOf": [{"type": _schema(t)["type"]} for t in members]}


def _struct(info: types.StructType) -> dict[str, Any]:
    properties = {}
    required = []
    for field in sorted(info.fields, key=lambda f: f.encode_name):
        properties[field.encode_name] = {**_schema(field.type), **_default(field)}
        if field.required:
            required.append(field.encode_name)
    cls = cast("type[Api]", info.cls)
    schema: dict[str, Any] = {
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "type": "object",
        "properties": properties,
    }
    if required:
        schema["required"] = required
    if cls.RULES:
        schema["x-kubernetes-validations"] = [{"message": r.message, "rule": r.rule} for r in cls.RULES]
    return schema


def _default(field: types.Field) -> dict[str, Any]:
    """An absent list, map or text stays absent; an absent struct of defaults becomes `{}`, whose fields fill in."""
    if field.default is not msgspec.NODEFAULT and field.default not in (None, ""):
        return {"default": field.default}
    factory = field.default_factory
    if isinstance(factory, type) and issubclass(factory, msgspec.Struct):
        return {"default": {}}
    return {}


def _bounded(schema: dict[str, Any], bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Write bounds in the words of the schema's type: `max_length` is maxLength, maxItems or maxProperties."""
    length = _LENGTHS.get(schema.get("type", ""), "")
    words = {"ge": "minimum", "le": "maximum", "min_length": f"min{length}", "max_length": f"max{length}"}
    made = {word: value for word, value in schema.items() if word != BOUNDS}
    return made | {words.get(name, name): value for name, value in bounds.items() if value is not None}


def _own_bounds(info: types.Type) -> dict[str, Any]:
    names = ("ge", "le", "pattern", "min_length", "max_length")
    return {name: getattr(info, name, None) for name in names}


def editor_schema(group: str, version: str, kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the schema of a whole object into JSON Schema 2020-12, closed to unknown fields, for editors."""
    made = cast("dict[str, Any]", _plain(schema))
    made["properties"]["apiVersion"] = {"const": f"{group}/{version}"}
    made["properties"]["kind"] = {"const": kind}
    made["required"] = ["apiVersion", "kind", "metadata", *(r for r in made.get("required", ()))]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind, **made}


def _plain(schema: Any) -> Any:
    """Leave out what only the API server knows, and close objects whose fields are listed."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for word, value in schema.items():
        if word == "properties":
            made[word] = {name: _plain(field) for name, field in value.items()}
            made.setdefault("additionalProperties", False)
        elif not word.startswith("x-kubernetes-") and word != "default":
            made[word] = _plain(value)
    return made
