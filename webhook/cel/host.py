"""Makes CEL object types from Python data classes: their fields and properties become fields of the object type.

Only declared fields can be read, no other Python attribute. Field names are camelCase as in the Kubernetes API:
`min_count` is read as `minCount`.
"""

from __future__ import annotations

import dataclasses
import types as python_types
import typing
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    object_type,
)
from webhook.cel.values import Duration, Timestamp, Uint

_PLAIN: dict[Any, Type] = {
    bool: BOOL,
    int: INT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    Uint: UINT,
    Timestamp: TIMESTAMP,
    Duration: DURATION,
}
_FIELDS: dict[str, dict[str, Type]] = {}
_NULLABLE: dict[str, dict[str, Type]] = {}
"""Of each object type the fields that may be null, which the checker knows as dyn: what they are where they are not."""
_ENUMS: set[tuple[str, str]] = set()
_ATTRIBUTES: dict[str, str] = {}
"""Names of attributes by the names that expressions give them."""


def host_type(cls: type[Any]) -> Type:
    """The object type of a data class; its fields, and its properties that say what they return, can be read.

    int, float, bool, str, bytes, sequences, mappings, enums and other data classes keep their types, all else is dyn.
    """
    name = f"{cls.__module__}.{cls.__qualname__}"
    if name not in _FIELDS:
        _FIELDS[name] = {}
        _FIELDS[name].update(_declared(cls))
        hints = typing.get_type_hints(cls)
        _NULLABLE[name] = {camel_case(f): _type(inner) for f, h in hints.items() if (inner := _beside_null(h))}
        _ENUMS.update((name, camel_case(f)) for f, hint in hints.items() if _is_enum(hint))
    return object_type(name)


def _declared(cls: type[Any]) -> dict[str, Type]:
    hints = typing.get_type_hints(cls)
    found = {f.name: _type(hints[f.name]) for f in dataclasses.fields(cls) if not f.name.startswith("_")}
    for name, member in vars(cls).items():
        if isinstance(member, property) and member.fget is not None and not name.startswith("_"):
            found[name] = _type(typing.get_type_hints(member.fget).get("return", object))
    _ATTRIBUTES.update((camel_case(attribute), attribute) for attribute in found)
    return {camel_case(attribute): type_ for attribute, type_ in found.items()}


def camel_case(attribute: str) -> str:
    """Return the name by which an expression reads an attribute: `min_count` -> `minCount`."""
    first, *others = attribute.split("_")
    return first + "".join(word.capitalize() for word in others)


def attribute_of(field: str) -> str:
    """Return the attribute that a declared field reads: `minCount` -> `min_count`."""
    return _ATTRIBUTES[field]


def _type(hint: Any) -> Type:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, python_types.UnionType) or hint in (Any, object):
        return DYN
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return map_of(_type(args[0]), _type(args[1]))
    if isinstance(origin, type) and (issubclass(origin, AbstractSet) or hasattr(origin, "__iter__")) and args:
        return list_of(_type(args[0]))
    return _class_type(hint)


def _class_type(hint: Any) -> Type:
    if not isinstance(hint, type):
        return DYN
    if dataclasses.is_dataclass(hint):
        return host_type(hint)
    if issubclass(hint, Enum):
        return next((t for base, t in _PLAIN.items() if issubclass(hint, base)), STRING)
    return DYN


def _beside_null(hint: Any) -> Any:
    """Return what a field is that may be null; None where it may not, or may be several other things."""
    others = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    is_union = typing.get_origin(hint) in (typing.Union, python_types.UnionType)
    return others[0] if is_union and len(others) == 1 else None


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def converts(name: str, field: str) -> bool:
    """Whether a field must go through `plain` though its type is a plain one."""
    return (name, field) in _ENUMS


def known(name: str) -> bool:
    """Whether an object type is one of the host's."""
    return name in _FIELDS


def fields(name: str) -> dict[str, Type]:
    """The fields of a host type, none for another type."""
    return _FIELDS.get(name, {})


def nullable(name: str) -> Mapping[str, Type]:
    """The fields of a host type that may be null, and what they are where they are not."""
    return _NULLABLE.get(name, {})


def read(value: object, field: str) -> object:
    """A declared field as a value of the language."""
    cls = type(value)
    declared = _FIELDS[f"{cls.__module__}.{cls.__qualname__}"][field]
    given = getattr(value, _ATTRIBUTES[field])
    return loose(given) if declared is DYN else plain(given)


def plain(value: object) -> object:
    """A tuple or set as a list, an enum as what it stands for; the rest as it is."""
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return value.value if isinstance(value, Enum) else value


def loose(value: object) -> object:
    """What a field of no one type holds: a data class, which may stand beside null, as a map of its fields."""
    if isinstance(value, tuple):
        return [loose(v) for v in value]
    if not dataclasses.is_dataclass(value) or type(value) in _PLAIN:
        return plain(value)
    return {field: loose(getattr(value, _ATTRIBUTES[field])) for field in fields(host_type(type(value)).name)}
