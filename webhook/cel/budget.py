"""The cost budget that the expressions of one policy share. The limit of a single call is checked in `program.py`."""

from __future__ import annotations

from typing import Protocol

import msgspec

from webhook.cel.limits import CALL_LIMIT, POLICY_LIMIT


class Metered(Protocol):
    """The part of a program that a budget uses."""

    def spent(self, values: tuple[object, ...]) -> int:
        """Return what an evaluation with these values costs, exactly."""


class Budget(msgspec.Struct, eq=False):
    """A cost budget for several evaluations. `remaining` falls with each; below 0 the budget is exceeded.

    The fast form knows only an upper bound of its cost. While the sum of these bounds (`uncounted`) fits, its
    evaluations are only noted; otherwise the noted ones are evaluated again by the exact form, which counts. So the
    budget is exceeded by the same evaluation in either form.
    """

    # A struct, and not compiled: each policy makes one, and generated code reads it after each expression.
    remaining: int = POLICY_LIMIT
    call_limit: int = CALL_LIMIT
    uncounted: int = 0
    noted: list[tuple[Metered, tuple[object, ...]]] = msgspec.field(default_factory=list)

    def settle(self) -> None:
        """Take what the noted evaluations cost from `remaining`."""
        noted, self.noted = self.noted, []
        self.uncounted = 0
        for program, values in noted:
            self.remaining -= program.spent(values)
