"""Label selectors (meta/v1 LabelSelector) as predicates over labels. Field selectors are not here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class SelectorError(ValueError):
    """A selector is invalid. `path` leads to the wrong part."""

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


def everything(labels: Labels) -> bool:
    """Select every object, as the empty selector does."""
    return True


def compile_selector(selector: Mapping[str, Any] | None) -> Predicate:
    """Turn a LabelSelector into a predicate; an empty one, or none, selects everything.

    Raises SelectorError on an unknown operator, or on values that the operator does not allow.
    """
    if not selector:
        return everything
    tests = [_equals(str(k), str(v)) for k, v in (selector.get("matchLabels") or {}).items()]
    tests += [_expression(e, i) for i, e in enumerate(selector.get("matchExpressions") or ())]
    if not tests:
        return everything
    return tests[0] if len(tests) == 1 else _all(tests)


def _all(tests: Sequence[Predicate]) -> Predicate:
    return lambda labels: all(test(labels) for test in tests)


def _equals(key: str, value: str) -> Predicate:
    return lambda labels: labels.get(key) == value


def _expression(expression: Mapping[str, Any], index: int) -> Predicate:
    path = ("matchExpressions", index)
    key, operator = str(expression.get("key") or ""), expression.get("operator")
    values = frozenset(str(v) for v in expression.get("values") or ())
    if not key:
        raise SelectorError("a selector's requirement needs a key", path)
    if operator in ("In", "NotIn"):
        if not values:
            raise SelectorError(f"{operator} needs at least one value", (*path, "values"))
        if operator == "In":
            return lambda labels: labels.get(key) in values
        return lambda labels: key not in labels or labels[key] not in values
    if operator not in OPERATORS:
        raise SelectorError(f'unknown operator "{operator}": one of {", ".join(OPERATORS)}', (*path, "operator"))
    if values:
        raise SelectorError(f"{operator} takes no values", (*path, "values"))
    present = operator == "Exists"
    return lambda labels: (key in labels) is present
