"""The value of `variables` in an expression: each is computed when it is first asked for, and kept.

Compiled code reads it by attribute. An error is kept as well, and worded as the API server words it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.cel.errors import CelError, EvalError
from webhook.cel.program import Budget
from webhook.policy.expression import Expression, Values


class Variables:
    """The variables of one policy for one evaluation; computed ones stand in the instance's own dict."""

    def __init__(self, table: Mapping[str, Expression], budget: Budget | None) -> None:
        self.__dict__["__table"] = table
        self.__dict__["__budget"] = budget

    def bind(self, values: Values) -> None:
        """Say what the variables' own expressions see; called once, before the first read."""
        self.__dict__["__values"] = values

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        failed = own.get("__failed")
        if failed is not None and name in failed:
            raise failed[name]
        try:
            value = own["__table"][name].call(own["__values"], own["__budget"])
        except KeyError:
            raise AttributeError(name) from None
        except CelError as error:
            failure = EvalError(f'composited variable "{name}" fails to evaluate: {error.message}')
            own.setdefault("__failed", {})[name] = failure
            raise failure from None
        own[name] = value
        return value
