"""Constructors for the rows of a library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from webhook.cel.function_types import Cost, Function, Overload, Price
from webhook.cel.types import STRING, Type


def member(
    overload_id: str,
    receiver: Type,
    arguments: tuple[Type, ...],
    result: Type,
    call: Callable[..., object],
    cost: Cost | Price | None = None,
) -> Overload:
    """An overload called as `receiver.name(arguments)`."""
    return priced(Overload(overload_id, (receiver, *arguments), result, call, member=True), cost)


def plain(
    overload_id: str,
    arguments: tuple[Type, ...],
    result: Type,
    call: Callable[..., object],
    cost: Cost | Price | None = None,
) -> Overload:
    """An overload called as `name(arguments)`."""
    return priced(Overload(overload_id, arguments, result, call), cost)


def in_python(template: str, row: Overload) -> Overload:
    """The row with the Python expression that gives the same, for arguments of known types."""
    return replace(row, template=template)


def of_text(overload_id: str, result: Type, call: Callable[..., object], cost: Cost | Price) -> Overload:
    """An overload called as `name(text)` whose answers may be remembered."""
    return replace(plain(overload_id, (STRING,), result, call, cost), memo=True)


def priced(row: Overload, cost: Cost | Price | None) -> Overload:
    """The row with its cost: a whole price, or one at run time alone, whose estimate is 1."""
    if isinstance(cost, Price):
        return replace(row, cost=cost.spend, estimate=cost.bound, words=cost.words)
    return replace(row, cost=cost)


def library(name: str, *functions: Function) -> tuple[Function, ...]:
    """The functions of a library, each with the name of the library, in the order of the reference page."""
    return tuple(replace(function, library=name) for function in functions)
