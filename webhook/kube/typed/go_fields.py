"""How Go writes each field of a built-in type, from the compact `schemas/fields.json`.

Written by `python -m tests.schemas` out of the Go types themselves; read here as data of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from webhook.kube.schemas import package


class FieldForm(StrEnum):
    """When a field is part of an object's JSON, and its value when unset."""

    UNLESS_EMPTY = "o"
    UNLESS_NIL = "p"
    ALWAYS = "k"
    NULL_IF_NIL = "n"
    STRUCT = "s"
    STRUCT_UNLESS_ZERO = "z"


STRUCTS = frozenset({FieldForm.STRUCT, FieldForm.STRUCT_UNLESS_ZERO})
"""Fields that hold a struct and not a pointer: the struct is always present."""
VALUES = frozenset({FieldForm.UNLESS_EMPTY, FieldForm.ALWAYS})
"""Fields for which empty and unset are the same."""


@cache
def fields_of(name: str) -> Mapping[str, FieldForm] | None:
    """Return the fields of a type by its full name; None for a type with its own encoding, or not of Kubernetes."""
    row = package("fields").get(name)
    if row is None:
        return None
    return {field: FieldForm(code) for code, names in row.items() for field in names.split()}
