"""Run-time check of whether a value has a declared type. Assignability between types is in `check/unify.py`."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.function_types import Overload
from webhook.cel.types import Type, TypeKind
from webhook.cel.values import type_name


def fits(wanted: Type, value: object) -> bool:
    """Whether a value may be passed where `wanted` is declared; of lists and maps the first element is looked at."""
    if wanted.kind in (TypeKind.DYN, TypeKind.PARAM):
        return True
    if wanted.name != type_name(value):
        return False
    if wanted.kind is TypeKind.LIST and isinstance(value, list) and value:
        return fits(wanted.params[0], value[0])
    if wanted.kind is TypeKind.MAP and isinstance(value, dict) and value:
        key, held = next(iter(value.items()))
        return fits(wanted.params[0], key) and fits(wanted.params[1], held)
    return True


def guard(wanted: Type) -> Callable[[object], bool] | None:
    """A test for one argument, None where anything goes."""
    if wanted.kind in (TypeKind.DYN, TypeKind.PARAM):
        return None
    if wanted.kind in (TypeKind.LIST, TypeKind.MAP):
        return lambda value: fits(wanted, value)
    name = wanted.name
    return lambda value: type_name(value) == name


def guards_of(overload: Overload) -> list[tuple[int, Callable[[object], bool]]]:
    """The tests of an overload's arguments by index, none where the function looks at its arguments itself."""
    if not overload.guarded:
        return []
    return [(i, g) for i, t in enumerate(overload.args) if (g := guard(t)) is not None]
