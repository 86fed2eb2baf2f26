"""Short ways to write the rows of a library. Data only."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.overloads import Cost, Function, Overload
from webhook.cel.types import Type

Examples = tuple[tuple[str, str], ...]


def member(
    overload_id: str,
    receiver: Type,
    arguments: tuple[Type, ...],
    result: Type,
    call: Callable[..., object],
    cost: Cost | None = None,
    template: str | None = None,
) -> Overload:
    """An overload called as `receiver.name(arguments)`."""
    return Overload(overload_id, (receiver, *arguments), result, call, member=True, cost=cost, template=template)


def plain(
    overload_id: str,
    arguments: tuple[Type, ...],
    result: Type,
    call: Callable[..., object],
    cost: Cost | None = None,
    template: str | None = None,
) -> Overload:
    """An overload called as `name(arguments)`."""
    return Overload(overload_id, arguments, result, call, cost=cost, template=template)


def library(name: str, *functions: Function) -> tuple[Function, ...]:
    """The functions of a library, each with the name of the library, in the order of the reference page."""
    return tuple(
        Function(f.name, f.overloads, f.doc, f.examples, library=name, mutation_only=f.mutation_only) for f in functions
    )
