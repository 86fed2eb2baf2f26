"""One compiled expression of a policy: its text, where it stands in the file, and how to call it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webhook.cel.errors import CelError, Interrupted
from webhook.cel.program import Budget, Program
from webhook.documents import Path
from webhook.policy.dependencies import reads

Values = tuple[Any, ...]
"""What an expression sees, in the order of its environment's variables."""


class OutOfBudget(Exception):
    """The expressions of a policy together cost more than a policy may. No operator of CEL absorbs it."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A CEL expression of a policy. `path` leads to its text in the document, `reads` to what it reads of `object`."""

    text: str
    program: Program = field(repr=False)
    path: Path = ()
    reads: tuple[reads.Path, ...] = reads.EVERYTHING

    def call(self, values: Values, budget: Budget) -> Any:
        """Evaluate it. Raises CelError, and OutOfBudget where the budget is spent."""
        try:
            value = self.program.metered(values, budget)
        except CelError:
            if budget.remaining < 0:
                raise OutOfBudget from None
            raise
        except Interrupted as stop:
            raise CelError(str(stop)) from None
        if budget.remaining < 0:
            raise OutOfBudget
        return value
