"""The value of `variables` in an expression: each is computed when it is first asked for, and kept.

An error is kept as well, and worded as the API server words it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from webhook.cel.compose import TYPE_NAME
from webhook.cel.errors import CelError, EvalError
from webhook.cel.operators import MISSING
from webhook.cel.program import Budget
from webhook.cel.types import Type, object_type
from webhook.policy.expression import Expression, Values

VARIABLES: Final = object_type(TYPE_NAME)


class Variables:
    """The variables of one policy for one evaluation."""

    __slots__ = ("_budget", "_known", "_table", "values")
    cel_type: ClassVar[Type] = VARIABLES

    def __init__(self, table: Mapping[str, Expression], budget: Budget) -> None:
        self._table = table
        self._budget = budget
        self._known: dict[str, Any] = {}
        self.values: Values = ()
        """What the variables' own expressions see; set before the first read."""

    def cel_find(self, name: Any) -> Any:
        """Give a variable's value; MISSING where there is none of that name. Raises CelError where it failed."""
        value = self._known.get(name, MISSING)
        if value is not MISSING:
            if isinstance(value, CelError):
                raise value.with_traceback(None)
            return value
        expression = self._table.get(name)
        if expression is None:
            return MISSING
        try:
            value = expression.call(self.values, self._budget)
        except CelError as error:
            self._known[name] = failure = EvalError(f'composited variable "{name}" fails to evaluate: {error.message}')
            raise failure from None
        self._known[name] = value
        return value
