"""Comprehensions of the exact form: loops that stop where cel-go cancels, with the cost that it has counted there.

A loop checks the cost after each iteration. If an iteration exceeds the limit, it is repeated on a frame that stops at
the exact step; so the cost at cancellation is known without a second evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from webhook.cel.errors import EXCEEDED, BudgetError, CelError
from webhook.cel.interpreter.attributes import COST, LIMIT, Eval, Failure, Frame
from webhook.cel.interpreter.cancelling import Cancelling
from webhook.cel.keys import bare
from webhook.cel.values import MutableList, MutableMap, type_name


@dataclass(frozen=True, slots=True)
class Loop:
    """The parts of a comprehension."""

    over: Eval
    init: Eval
    condition: Eval
    step: Eval
    result: Eval
    accu: int
    first: int
    second: int


def fold(loop: Loop) -> Eval:
    """A comprehension: an error of a step stays in the accumulator, as in cel-go."""
    accu, first, second = loop.accu, loop.first, loop.second
    condition, step = loop.condition, loop.step

    def evaluate(frame: Frame) -> object:
        rounds = items(loop.over(frame), bool(second))
        frame[accu] = held = _growing(loop.init(frame))
        before = frame[COST]
        for item in rounds:
            if second:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            try:
                if condition(frame) is False:
                    break
                frame[accu] = step(frame)
            except BudgetError as stop:
                raise _cancelled(loop, frame, before, held, stop) from None
            except CelError as error:
                frame[accu] = Failure(error.message)
            if frame[COST] > frame[LIMIT]:
                raise _cancelled(loop, frame, before, held)
            before, held = frame[COST], frame[accu]
        return _settled(loop.result(frame))

    return evaluate


def quantifier(loop: Loop, test: Eval, *, every: bool) -> Eval:
    """`all` and `exists`: the fold that has `accumulator && test` or `accumulator || test` as its step.

    What reads and tests the accumulator costs the same in each round, so that it is charged at once.
    """
    accu, first, second = loop.accu, loop.first, loop.second
    looking, reading = (2, 1) if every else (3, 1)
    general = fold(loop)

    def evaluate(frame: Frame) -> object:
        if type(frame) is Cancelling:
            return general(frame)
        rounds = items(loop.over(frame), bool(second))
        value: object = loop.init(frame)
        limit = frame[LIMIT]
        for item in rounds:
            before = frame[COST]
            if value is not every and type(value) is bool:
                frame[COST] = before + looking
                break
            frame[COST] = before + looking + reading
            if second:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            try:
                found = test(frame)
                if type(found) is not bool:
                    raise CelError("no such overload")
                if found is not every or type(value) is bool:
                    value = found
            except BudgetError as stop:
                raise _cancelled(loop, frame, before, value, stop) from None
            except CelError as error:
                if type(value) is bool:
                    value = Failure(error.message)
            if frame[COST] > limit:
                raise _cancelled(loop, frame, before, value)
        frame[accu] = value
        return loop.result(frame)

    return evaluate


def _cancelled(loop: Loop, frame: Frame, before: int, held: object, stop: BudgetError | None = None) -> BudgetError:
    """The end of an evaluation in a round that began at the cost `before`, with `held` in the accumulator."""
    if type(frame) is Cancelling or (stop is not None and (stop.cost or frame[COST] <= frame[LIMIT])):
        return stop or BudgetError(EXCEEDED)
    if before > frame[LIMIT]:
        return BudgetError(EXCEEDED)  # It was passed before this round.
    again = Cancelling(frame)
    again[COST], again[loop.accu] = before, held
    with suppress(CelError):
        loop.condition(again)
        loop.step(again)
    return BudgetError(EXCEEDED, cost=again.passed)


def _growing(start: object) -> object:
    """What an accumulator begins as: an empty list or map as one that grows in place."""
    if start or type(start) not in (list, dict):
        return start
    return MutableList() if type(start) is list else MutableMap()


def _settled(value: object) -> object:
    """What a loop gives: what grew in place is a plain list or map from here on."""
    if type(value) is MutableList:
        return list(value)
    return dict(value) if type(value) is MutableMap else value


def items(over: object, pairs: bool) -> Iterable[Any]:
    """What a comprehension goes over: elements, keys, or pairs."""
    if isinstance(over, dict):
        return [(bare(k), v) for k, v in over.items()] if pairs else [bare(k) for k in over]
    if isinstance(over, list):
        return enumerate(over) if pairs else over
    if pairs:
        raise CelError(f"unsupported comprehension range type: {type_name(over)}")
    raise CelError(f"got '{type_name(over)}', expected iterable type")
