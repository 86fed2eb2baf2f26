"""Calls at run time: dispatch to the overload for the argument values, and the cost of a call. Rules: cel-go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from webhook.cel.errors import EXCEEDED, BudgetError, CelError
from webhook.cel.function_types import Function, Overload
from webhook.cel.interpreter.attributes import COST, LIMIT, Eval, Frame
from webhook.cel.lib import costs
from webhook.cel.type_guards import guards_of
from webhook.cel.values import type_name

Charge = Callable[[Sequence[object], object], int]


def no_overload(name: str, args: Sequence[object]) -> CelError:
    """`no such overload: name(int, string)`."""
    return CelError(f"no such overload: {name}({', '.join(map(type_name, args))})")


def call(function: Function, overload: Overload | None, args: tuple[Eval, ...], *, eager: bool = True) -> Eval:
    """The evaluator of a call. `overload` is the one the checker settled on, None where values decide.

    `eager` False: the call costs nothing where its first argument failed, as with a constant pattern.
    """
    if overload is not None and not function.one_body:
        return _settled(function, overload, args, eager=eager)
    fitting = [o for o in function.overloads if len(o.args) == len(args)]
    if function.library == "operators" and fitting:
        return _operator(fitting[0], args)
    cost = overload.cost if overload is not None else None
    return _open(function, fitting, args, cost or costs_by_name(function), eager=eager)


class _Failed:
    """Stands for an argument or a result that failed; counts 1."""


_FAILED = _Failed()


def unit(_args: Sequence[object], _result: object) -> int:
    """Cost 1."""
    return 1


@cache
def by_result(charge: Charge, count: int) -> bool:
    """Whether what a call costs may depend on what it gives: then it can be charged only afterwards."""
    arguments: list[object] = [[]] * count
    try:
        return len({charge(arguments, result) for result in ("", "x" * 9_000, ["x"] * 9_000, {1: 2}, 1)}) > 1
    except Exception:
        return True


def _evaluator(apply: Callable[..., object], args: tuple[Eval, ...], charge: Charge, *, eager: bool) -> Eval:
    """Evaluates arguments, then the call. A failed call is charged; an `eager` one also where an argument failed.

    What a call costs by its arguments is charged before it is made, so that what costs too much is not done. The sum
    wraps as a uint64 does: flattening to a negative depth costs less than nothing.
    """
    after = by_result(charge, len(args))
    if eager and not after and len(args) == 1:
        return _unary(apply, args[0], charge)
    if eager and not after and len(args) == 2:
        return _binary(apply, args[0], args[1], charge)

    def evaluate(frame: Frame) -> object:
        values: list[object] = []
        error: CelError | None = None
        for arg in args:
            try:
                values.append(arg(frame))
            except BudgetError:
                raise
            except CelError as failed:
                if not eager:
                    if len(values) + 1 == len(args):
                        frame[COST] += charge([*values, _FAILED], _FAILED)
                    raise
                error = error or failed
                values.append(_FAILED)
        result: object = _FAILED
        if not after:
            spent = frame[COST] = (frame[COST] + charge(values, result)) & costs.UNITS_MAX
            if spent > frame[LIMIT]:
                raise BudgetError(EXCEEDED)
        try:
            if error is not None:
                raise error
            result = apply(*values)
        finally:
            del error  # it holds this frame, which must not hold it: nobody looks for garbage in time
            if after:
                frame[COST] = (frame[COST] + charge(values, result)) & costs.UNITS_MAX
        return result

    return evaluate


def _unary(apply: Callable[..., object], operand: Eval, charge: Charge) -> Eval:
    """The same for one argument."""
    always = 1 if charge is unit or charge is costs.nominal else 0

    def evaluate(frame: Frame) -> object:
        value: object = _FAILED
        try:
            value = operand(frame)
        except BudgetError:
            raise
        except CelError:
            frame[COST] = (frame[COST] + charge((value,), _FAILED)) & costs.UNITS_MAX
            if frame[COST] > frame[LIMIT]:
                raise BudgetError(EXCEEDED) from None
            raise
        spent = frame[COST] = (frame[COST] + (always or charge((value,), _FAILED))) & costs.UNITS_MAX
        if spent > frame[LIMIT]:
            raise BudgetError(EXCEEDED)
        return apply(value)

    return evaluate


def _binary(apply: Callable[..., object], left: Eval, right: Eval, charge: Charge) -> Eval:
    """The same for two arguments, of which both are always evaluated."""
    always = 1 if charge is unit or charge is costs.nominal else 0

    def evaluate(frame: Frame) -> object:
        error: CelError | None = None
        a: object = _FAILED
        b: object = _FAILED
        try:
            a = left(frame)
        except BudgetError:
            raise
        except CelError as failed:
            error = failed
        try:
            b = right(frame)
        except BudgetError:
            raise
        except CelError as failed:
            error = error or failed
        spent = frame[COST] = (frame[COST] + (always or charge((a, b), _FAILED))) & costs.UNITS_MAX
        if spent > frame[LIMIT]:
            raise BudgetError(EXCEEDED)
        if error is None:
            return apply(a, b)
        try:
            raise error
        finally:
            del error  # as above

    return evaluate


def undefined(name: str, args: tuple[Eval, ...]) -> Eval:
    """The evaluator of an unchecked call of a function nobody knows."""

    def apply(*_: object) -> object:
        raise CelError(f"no such overload: {name}")

    return _evaluator(apply, args, unit, eager=len(args) < 3)


def _operator(row: Overload, args: tuple[Eval, ...], charge: Charge = unit) -> Eval:
    return _evaluator(row.call, args, charge, eager=len(args) < 3)


def _settled(function: Function, overload: Overload, args: tuple[Eval, ...], *, eager: bool) -> Eval:
    charge = overload.cost or unit
    if function.library == "operators":
        return _operator(overload, args, charge)
    tests = guards_of(overload)
    call_row, name = overload.call, function.name
    in_order = len(args) > 2 or overload.variadic
    if not tests:
        return _evaluator(call_row, args, charge, eager=eager and not in_order)

    def apply(*values: object) -> object:
        for index, test in tests:
            if not test(values[index]):
                raise no_overload(name, values)
        return call_row(*values)

    return _evaluator(apply, args, charge, eager=eager and not in_order)


def _open(function: Function, fitting: list[Overload], args: tuple[Eval, ...], charge: Charge, *, eager: bool) -> Eval:
    rows = [(o, guards_of(o)) for o in fitting]
    in_order = len(args) > 2 or any(o.variadic for o in fitting)
    eager = eager and not in_order and (len(function.overloads) == 1 or function.one_body or function.together)

    def apply(*values: object) -> object:
        for row, tests in rows:
            if all(test(values[index]) for index, test in tests):
                return row.call(*values)
        raise no_overload(function.name, values)

    return _evaluator(apply, args, charge, eager=eager)


_BY_OVERLOAD = frozenset(("standard", "operators", "lists", "sets", "optionals"))
"""Libraries of cel-go, which charges by the overload: what none was settled for costs 1."""


@cache
def costs_by_name(function: Function) -> Charge:
    """The cost of a call whose overload is open: charged by the function's name where the API server does so."""
    if function.library in _BY_OVERLOAD:
        return unit
    charges = {o.cost: None for o in function.overloads if o.cost is not None}
    if len(charges) < 2:
        return next(iter(charges), unit)
    # What the API server adds for one of the overloads it adds only where that one is settled.
    return lambda args, result: min(charge(args, result) for charge in charges)
