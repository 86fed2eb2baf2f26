"""The types of the language as immutable values, printed as in cel-go. The type checker is `check/checker.py`.

A `Type` has a name and parameters. `kind` tells apart object types, opaque types and type parameters, which may all
have any name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

OPTIONAL: Final = "optional_type"


class TypeKind(IntEnum):
    """What the name of a type stands for."""

    DYN = 0
    PRIMITIVE = 1
    NULL = 2
    WELL_KNOWN = 3
    LIST = 4
    MAP = 5
    TYPE = 6
    OPAQUE = 7
    OBJECT = 8
    PARAM = 9
    ERROR = 10
    WRAPPER = 11


@dataclass(frozen=True, slots=True)
class Type:
    """A type: `name` as the run time calls it (`int`, `list`, `kubernetes.Quantity`, `A`), and its parameters."""

    name: str
    params: tuple[Type, ...] = ()
    kind: TypeKind = TypeKind.PRIMITIVE

    def __str__(self) -> str:
        """The type as cel-go's checker prints it: `list(int)`, `map(string, dyn)`, `type(int)`."""
        if self.kind is TypeKind.ERROR:
            return "!error!"
        if self.kind is TypeKind.NULL:
            return "null"
        if self.kind is TypeKind.WELL_KNOWN:
            return {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration"}[self.name]
        if self.kind is TypeKind.WRAPPER:
            return f"wrapper({self.name})"
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    @property
    def is_optional(self) -> bool:
        """Whether it is the type of optionals of some value."""
        return self.kind is TypeKind.OPAQUE and self.name == OPTIONAL

    def declared(self) -> str:
        """The type by its run-time names: `list(google.protobuf.Duration)`, `null_type`."""
        return f"{self.name}({', '.join(p.declared() for p in self.params)})" if self.params else self.name


DYN = Type("dyn", (), TypeKind.DYN)
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
BOOL = Type("bool")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type", (), TypeKind.NULL)
TIMESTAMP = Type("google.protobuf.Timestamp", (), TypeKind.WELL_KNOWN)
DURATION = Type("google.protobuf.Duration", (), TypeKind.WELL_KNOWN)
TYPE = Type("type", (), TypeKind.TYPE)
ERROR = Type("*error*", (), TypeKind.ERROR)


def list_of(element: Type) -> Type:
    """The type of lists of `element`."""
    return Type("list", (element,), TypeKind.LIST)


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from `key` to `value`."""
    return Type("map", (key, value), TypeKind.MAP)


def optional_of(value: Type) -> Type:
    """The type `optional_type(value)`."""
    return Type(OPTIONAL, (value,), TypeKind.OPAQUE)


def type_of(value: Type) -> Type:
    """The type of the type `value`: what `int` in an expression has."""
    return Type("type", (value,), TypeKind.TYPE)


def param(name: str) -> Type:
    """A type parameter of an overload, e.g. `param("A")`."""
    return Type(name, (), TypeKind.PARAM)


def opaque(name: str, *params: Type) -> Type:
    """An abstract type that only functions can look into, e.g. `opaque("kubernetes.Quantity")`."""
    return Type(name, params, TypeKind.OPAQUE)


def object_type(name: str) -> Type:
    """A type with fields; the environment says which."""
    return Type(name, (), TypeKind.OBJECT)


def nullable(primitive: Type) -> Type:
    """A primitive that may be null (protobuf's wrapper types; only specification rows declare them)."""
    return Type(primitive.name, (), TypeKind.WRAPPER)
