"""Calls at run time: which overload answers for the values at hand, and what a call costs. The rules are cel-go's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from webhook.cel.attributes import COST, Eval, Frame
from webhook.cel.errors import CelError
from webhook.cel.lib import costs
from webhook.cel.overloads import Function, Overload
from webhook.cel.types import Kind, Type
from webhook.cel.values import Optional, type_name


def fits(wanted: Type, value: object) -> bool:
    """Whether a value may be passed where `wanted` is declared; of lists and maps the first element is looked at."""
    if wanted.kind in (Kind.DYN, Kind.PARAM):
        return True
    if wanted.name != type_name(value):
        return False
    if wanted.kind is Kind.LIST and isinstance(value, list) and value:
        return fits(wanted.params[0], value[0])
    if wanted.kind is Kind.MAP and isinstance(value, dict) and value:
        key, held = next(iter(value.items()))
        return fits(wanted.params[0], key) and fits(wanted.params[1], held)
    return True


def guard(wanted: Type) -> Callable[[object], bool] | None:
    """A test for one argument, None where anything goes."""
    if wanted.kind in (Kind.DYN, Kind.PARAM):
        return None
    return lambda value: fits(wanted, value)


def guards_of(overload: Overload) -> list[tuple[int, Callable[[object], bool]]]:
    """The tests of an overload's arguments by index, none where the function looks at its arguments itself."""
    if not overload.guarded:
        return []
    return [(i, g) for i, t in enumerate(overload.args) if (g := guard(t)) is not None]


def size(value: object) -> int:
    """How big a value is for the cost of comparing it."""
    if isinstance(value, Optional) and value.present:
        return size(value.value)
    return costs.size(value)


def comparison_cost(args: Sequence[object], _: object = None) -> int:
    """The cost of `==`, `!=` and of ordering texts: a tenth of the smaller one."""
    return math.ceil(min(size(args[0]), size(args[1])) * costs.STRING_FACTOR)


def _add_cost(args: Sequence[object], _: object = None) -> int:
    return math.ceil((size(args[0]) + size(args[1])) * costs.STRING_FACTOR)


OPERATOR_COSTS: dict[str, Callable[[Sequence[object], object], int]] = {
    "equals": comparison_cost,
    "not_equals": comparison_cost,
    "add_string": _add_cost,
    "add_bytes": _add_cost,
    "in_list": lambda args, _: size(args[1]),
    **{
        f"{op}_{kind}": comparison_cost
        for op in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}
"""Costs of operators whose overload the checker settled; the others cost 1."""


def no_overload(name: str, args: Sequence[object]) -> CelError:
    """`no such overload: name(int, string)`."""
    return CelError(f"no such overload: {name}({', '.join(map(type_name, args))})")


SINGLE = frozenset(("size", "matches"))
"""Functions with one body for all their overloads: what the checker settled on does not bind the values."""


def call(function: Function, overload: Overload | None, args: tuple[Eval, ...]) -> Eval:
    """The evaluator of a call. `overload` is the one the checker settled on, None where values decide."""
    if overload is not None and function.name not in SINGLE:
        return _settled(function, overload, args)
    fitting = [o for o in function.overloads if len(o.args) == len(args)]
    if function.library == "operators" and fitting:
        return _operator(fitting[0], args)
    cost = overload.cost if overload is not None else None
    return _open(function, fitting, args, cost or costs_by_name(function))


def _operator(row: Overload, args: tuple[Eval, ...]) -> Eval:
    apply = row.call
    if len(args) == 1:
        only = args[0]

        def unary(frame: Frame) -> object:
            value = only(frame)
            frame[COST] += 1
            return apply(value)

        return unary
    left, right = args[0], args[1]

    def binary(frame: Frame) -> object:
        a, b = _both(frame, left, right)
        frame[COST] += 1
        return apply(a, b)

    return binary if len(args) == 2 else _plain(apply, args, None)


def _both(frame: Frame, left: Eval, right: Eval) -> tuple[object, object]:
    """Both operands; the right one is evaluated (and charged) even where the left one failed."""
    try:
        a = left(frame)
    except CelError:
        try:
            right(frame)
        except CelError:
            pass
        raise
    return a, right(frame)


def _plain(
    apply: Callable[..., object], args: tuple[Eval, ...], cost: Callable[[Sequence[object], object], int] | None
) -> Eval:
    def evaluate(frame: Frame) -> object:
        values = [arg(frame) for arg in args]
        if cost is None:
            frame[COST] += 1
            return apply(*values)
        result = apply(*values)
        frame[COST] += cost(values, result)
        return result

    return evaluate


def _settled(function: Function, overload: Overload, args: tuple[Eval, ...]) -> Eval:
    cost = overload.cost or OPERATOR_COSTS.get(overload.id)
    if function.library == "operators":
        return _plain(overload.call, args, cost) if cost is not None else _operator(overload, args)
    guards = guards_of(overload)
    apply, name = overload.call, function.name

    def evaluate(frame: Frame) -> object:
        values = [arg(frame) for arg in args]
        for index, test in guards:
            if not test(values[index]):
                frame[COST] += 1
                raise no_overload(name, values)
        if cost is None:
            frame[COST] += 1
            return apply(*values)
        result = apply(*values)
        frame[COST] += cost(values, result)
        return result

    return evaluate


def _open(
    function: Function,
    fitting: list[Overload],
    args: tuple[Eval, ...],
    cost: Callable[[Sequence[object], object], int],
) -> Eval:
    rows = [(o, guards_of(o)) for o in fitting]

    def evaluate(frame: Frame) -> object:
        values = [arg(frame) for arg in args]
        for row, guards in rows:
            if all(test(values[index]) for index, test in guards):
                result = row.call(*values)
                frame[COST] += cost(values, result)
                return result
        frame[COST] += 1
        raise no_overload(function.name, values)

    return evaluate


def costs_by_name(function: Function) -> Callable[[Sequence[object], object], int]:
    """The cost of a call whose overload is open: charged by the function's name where the API server does so."""
    if function.library == "standard" or function.library == "operators":
        return lambda _args, _result: 1
    cost = next((o.cost for o in function.overloads if o.cost is not None), None)
    return cost or (lambda _args, _result: 1)
