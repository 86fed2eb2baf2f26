"""A frame that stops the exact form at the cost limit. Not in `program.py`, since it derives from list."""

from __future__ import annotations

from typing import Any

from webhook.cel.errors import EXCEEDED, BudgetError
from webhook.cel.interpreter.attributes import COST, LIMIT


class Cancelling(list[Any]):
    """A frame that ends the evaluation when its cost passes the limit."""

    passed = 0

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        if index == COST and value > self[LIMIT]:
            self.passed = self.passed or value
            raise BudgetError(EXCEEDED)
