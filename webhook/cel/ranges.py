"""Ranges of costs and sizes for the static estimate. Arithmetic as in cel-go: unsigned and saturating.

`cost/estimate.py` walks expressions; the rows of the functions hold the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from webhook.cel.types import Type

UNBOUNDED: Final = 2**64 - 1
_BEYOND: Final = 10**15


@dataclass(frozen=True, slots=True)
class Estimate:
    """At least `min` and at most `max` cost units, characters, elements or entries; `UNBOUNDED` stands for no bound."""

    min: int
    max: int

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(min(self.min + other.min, UNBOUNDED), min(self.max + other.max, UNBOUNDED))

    def __mul__(self, other: Estimate) -> Estimate:
        return Estimate(min(self.min * other.min, UNBOUNDED), min(self.max * other.max, UNBOUNDED))

    def __or__(self, other: Estimate) -> Estimate:
        """The range that covers both."""
        return Estimate(min(self.min, other.min), max(self.max, other.max))

    def scaled(self, factor: float) -> Estimate:
        """Multiply by a factor and round up."""
        return Estimate(_scaled(self.min, factor), _scaled(self.max, factor))

    def __str__(self) -> str:
        if self.min == self.max:
            return f"{self.min:,}"
        return f"{self.min:,}..{self.most}"

    @property
    def most(self) -> str:
        """The upper end in words: what no request can reach is no bound."""
        return f"{self.max:,}" if self.max < _BEYOND else "unbounded"


def _scaled(count: int, factor: float) -> int:
    product = float(count) * factor
    return min(math.ceil(product), UNBOUNDED) if product < float(UNBOUNDED) else UNBOUNDED


def fixed(count: int) -> Estimate:
    """A range of one number."""
    return Estimate(count, count)


NOTHING: Final = fixed(0)
ONE: Final = fixed(1)
UNKNOWN: Final = Estimate(0, UNBOUNDED)


class Operand(Protocol):
    """An operand of a call as the formulas see it, the receiver first."""

    @property
    def type(self) -> Type:
        """The type that the checker found."""

    @property
    def size(self) -> Estimate | None:
        """How big it is, None where nothing is known."""

    @property
    def known(self) -> Estimate:
        """How big it is, from nothing to anything where nothing is known."""

    @property
    def constant(self) -> object:
        """The value of a literal; `ABSENT` for all else."""

    def element(self) -> Operand | None:
        """What its elements are; None for a text, or where the type does not say."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a call costs besides its operands, and how big its result is, where that can be said."""

    cost: Estimate
    size: Estimate | None = None


Bound = Callable[[Sequence[Operand]], Charge]
"""The charge for a call of these operands."""
Sizer = Callable[[Sequence[str]], Estimate | None]
"""How big the value at a path is: a variable, then names of fields, `@items`, `@keys`, `@values`; None: unknown.

The empty path asks how big a value is of which nothing is known.
"""
