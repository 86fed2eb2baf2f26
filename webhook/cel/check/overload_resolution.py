"""Overload resolution as in cel-go: which overloads of a function fit the types of a call, and their result type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from webhook.cel.check.unify import Substitution
from webhook.cel.function_types import Function, Overload
from webhook.cel.types import DYN, Type, TypeKind


@dataclass(frozen=True, slots=True)
class Resolved:
    """The ids of the overloads that fit, in the order of the row, and the type of the call."""

    overloads: tuple[str, ...]
    result: Type


@cache
def _generic(overload: Overload) -> bool:
    """Whether an overload has type parameters."""
    stack = [*overload.args, overload.result]
    while stack:
        at = stack.pop()
        if at.kind is TypeKind.PARAM:
            return True
        stack += at.params
    return False


def resolve(
    function: Function, given: Sequence[Type], known: Substitution, fresh: Callable[[], Type], *, member: bool
) -> Resolved | None:
    """Find the overloads that fit, None where none does; the first decides the type unless another disagrees.

    What the fit says of type parameters is added to `known`; `fresh` makes parameters that nobody else has.
    """
    result: Type | None = None
    fitting: list[str] = []
    for overload in function.overloads:
        if overload.member != member or len(overload.args) != len(given):
            continue
        wanted, gives = overload.args, overload.result
        if _generic(overload):
            wanted, gives = _instance((*wanted, gives), fresh)
        if not known.all_assignable(tuple(given), wanted):
            continue
        fitting.append(overload.id)
        gives = known.apply(gives)
        if result is None:
            # A field that a JSONPatch does not have is of no type: what gives that gives nothing.
            result = gives if gives.name else None
        elif result.kind is not TypeKind.DYN and gives != result:
            result = DYN
    return None if result is None else Resolved(tuple(fitting), result)


def _instance(types: tuple[Type, ...], fresh: Callable[[], Type]) -> tuple[tuple[Type, ...], Type]:
    """The argument types and the result of an overload, with fresh type parameters."""
    names: dict[Type, Type] = {}
    *args, result = (_renamed(t, names, fresh) for t in types)
    return tuple(args), result


def _renamed(t: Type, names: dict[Type, Type], fresh: Callable[[], Type]) -> Type:
    if t.kind is TypeKind.PARAM:
        if t not in names:
            names[t] = fresh()
        return names[t]
    return Type(t.name, tuple(_renamed(p, names, fresh) for p in t.params), t.kind) if t.params else t
