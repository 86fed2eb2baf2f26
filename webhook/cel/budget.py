"""What the expressions of one policy may cost together, and what is left of it after each."""

from __future__ import annotations

from typing import Protocol

import msgspec

from webhook.cel.limits import CALL_LIMIT, POLICY_LIMIT


class Metered(Protocol):
    """A program, as far as a budget asks."""

    def spent(self, values: tuple[object, ...]) -> int:
        """Return what an evaluation with these values costs, exactly."""


class Budget(msgspec.Struct, eq=False):
    """What evaluations may cost together. `remaining` falls with each; below 0 the policy has run out of it.

    The fast form knows only an upper bound of what it spends. As long as these bounds fit together (`uncounted` is
    their sum) its evaluations are noted; when they might not fit any more, those noted are evaluated again by the
    exact form, which counts. So a budget is out after the very evaluation that takes it below 0, in either form.
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
