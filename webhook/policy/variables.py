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

    __slots__ = ("_budget", "_known", "_table", "_values")
    cel_type: ClassVar[Type] = VARIABLES

    def __init__(self, table: Mapping[str, Expression], budget: Budget) -> None:
        self._table = table
        self._budget = budget
        self._known: dict[str, Any] = {}
        self._values: Values = ()

    def bind(self, values: Values) -> None:
        """Say what the variables' own expressions see; called once, before the first read."""
        self._values = values

    def cel_find(self, name: Any) -> Any:
        """Give a variable's value; MISSING where there is none of that name. Raises CelError where it failed."""
        if name in self._known:
            value = self._known[name]
            if isinstance(value, CelError):
                raise value
            return value
        expression = self._table.get(name)
        if expression is None:
            return MISSING
        try:
            value = expression.call(self._values, self._budget)
        except CelError as error:
            self._known[name] = failure = EvalError(f'composited variable "{name}" fails to evaluate: {error.message}')
            raise failure from None
        self._known[name] = value
        return value
