"""CEL declarations of a CRD's schema for its validation rules: types of fields, and the largest size of each value.

Source: SchemaDeclType and the size estimator of the API server 1.36 (pkg/cel/common/schemas.go of k8s.io/apiserver,
pkg/apiserver/schema/cel of k8s.io/apiextensions-apiserver). The schema itself is not validated here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.cel.env import Env
from webhook.cel.ranges import Estimate
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
    optional_of,
)

REQUEST: Final = 3 * 1024 * 1024
"""Bytes of the largest request (MaxRequestSizeBytes)."""
_WORDS: Final = r"true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop"
_RESERVED: Final = re.compile(rf"{_WORDS}|package|namespace|return|var|void|while")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_METADATA: Final[dict[str, Any]] = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}


@dataclass(frozen=True, slots=True)
class Declared:
    """A place of the schema: its type, the most elements or characters, the fewest bytes as JSON, what is below it."""

    type: Type
    most: int = 0
    least: int = 1
    fields: Mapping[str, Declared] = field(default_factory=dict)
    element: Declared | None = None
    key: Declared | None = None


_SCALARS: Final = {"boolean": Declared(BOOL, 0, 4), "number": Declared(DOUBLE), "integer": Declared(INT)}
_KEY: Final = Declared(STRING, 0, 2)
_FORMATS: Final = {
    "duration": Declared(DURATION, 32, 3),
    "date": Declared(TIMESTAMP, 12, 12),
    "date-time": Declared(TIMESTAMP, 32, 21),
}


def escaped(name: str) -> str | None:
    """Return the name of a field as expressions write it, None where they cannot."""
    if not _NAME.fullmatch(name):
        return None
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found[0]], name)


def declare(schema: Mapping[str, Any], name: str = "selfType", *, root: bool = False) -> Declared | None:
    """Declare a schema under a type name; None where rules cannot see such a value. `root`: it is a whole object."""
    if schema.get("x-kubernetes-int-or-string"):
        length = schema.get("maxLength")
        return Declared(DYN, REQUEST - 2 if length is None else 4 * max(length, 0))
    if root:
        schema = _with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _list(schema, name)
        case "object":
            more = schema.get("additionalProperties")
            return _map(schema, more, name) if isinstance(more, Mapping) else _object(schema, name)
        case "string":
            return _string(schema)
        case str(kind):
            return _SCALARS.get(kind)
    return None


def _below(schema: Mapping[str, Any], name: str) -> Declared | None:
    return declare(schema, name, root=bool(schema.get("x-kubernetes-embedded-resource")))


def _list(schema: Mapping[str, Any], name: str) -> Declared | None:
    items = schema.get("items")
    element = _below(items, f"{name}.@idx") if isinstance(items, Mapping) else None
    if element is None:
        return None
    most = schema.get("maxItems")
    most = (REQUEST - 2) // (element.least + 1) if most is None else max(most, 0)
    return Declared(list_of(element.type), most, 2, element=element)


def _map(schema: Mapping[str, Any], more: Mapping[str, Any], name: str) -> Declared | None:
    element = _below(more, f"{name}.@elem")
    if element is None:
        return None
    most = schema.get("maxProperties")
    most = (REQUEST - 2) // (element.least + 6) if most is None else max(most, 0)
    return Declared(map_of(STRING, element.type), most, 2, element=element, key=_KEY)


def _object(schema: Mapping[str, Any], name: str) -> Declared:
    needed = schema.get("required") or ()
    fields: dict[str, Declared] = {}
    least = 2
    for field_name, inner in (schema.get("properties") or {}).items():
        found = _below(inner, f"{name}.{field_name}")
        if found is None:
            continue
        if (written := escaped(field_name)) is not None:
            fields[written] = found
        if field_name in needed and inner.get("default") is None:
            least += len(field_name.encode()) + found.least + 4
    return Declared(object_type(name), 0, least, fields)


def _string(schema: Mapping[str, Any]) -> Declared:
    form, length = schema.get("format"), schema.get("maxLength")
    if form in _FORMATS:
        return _FORMATS[form]
    if form == "byte":
        return Declared(BYTES, REQUEST - 2 if length is None else max(length, 0), 2)
    if length is not None:
        return Declared(STRING, 4 * max(length, 0), 2)
    if words := schema.get("enum"):
        return Declared(STRING, max((len(w.encode()) for w in words if isinstance(w, str)), default=0), 2)
    return Declared(STRING, REQUEST - 2, 2)


def _with_metadata(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a whole object, in which rules see its kind and its names whatever it says."""
    given = schema.get("properties") or {}
    named = (given.get("metadata") or {}).get("properties") or {}
    texts = [given.get("kind"), given.get("apiVersion"), named.get("name"), named.get("generateName")]
    whole = (given.get("metadata") or {}).get("type") == "object"
    if whole and all((inner or {}).get("type") == "string" for inner in texts):
        return schema
    return {**schema, "properties": {**given, "kind": _TEXT, "apiVersion": _TEXT, "metadata": _METADATA}}


def objects(declared: Declared) -> dict[str, dict[str, Type]]:
    """Return the fields of every object type at and below a place, by type name."""
    below = [*declared.fields.values(), *([declared.element] if declared.element else [])]
    found = {name: fields for inner in below for name, fields in objects(inner).items()}
    if not declared.element and declared.type == object_type(declared.type.name):
        found[declared.type.name] = {name: inner.type for name, inner in declared.fields.items()}
    return found


def rule_env(declared: Declared, *, optional_old: bool = False) -> Env:
    """Return the environment of the validation rules at a place: `self`, and `oldSelf` as it was before."""
    old = optional_of(declared.type) if optional_old else declared.type
    names = {"self": declared.type, "oldSelf": old}
    return Env(names, objects=objects(declared), sizes=lambda path: _size(declared, path))


def _size(declared: Declared, path: Sequence[str]) -> Estimate | None:
    """How big the value at a path is at most; the first step, the variable, does not matter."""
    at: Declared | None = declared if path else None
    for step in path[1:]:
        if at is None:
            return None
        if step in ("@items", "@values"):
            at = at.element
        else:
            at = at.key if step == "@keys" else at.fields.get(step)
    return None if at is None else Estimate(0, at.most)


def cardinality(declared: Declared) -> int:
    """Return how often a value can stand in an object at most, by its own bytes alone."""
    return REQUEST // (declared.least + 1)
