"""The sets library: set operations on lists."""

from __future__ import annotations

from typing import Final

from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.ordering import known_equal
from webhook.cel.lib.rows import library, plain
from webhook.cel.types import BOOL, list_of, param

_LIST: Final = list_of(param("T"))
_SIMPLE: Final = frozenset({str, bool, type(None), bytes})


def contains(elements: list[object], wanted: list[object]) -> bool:
    """Whether every wanted value is an element."""
    return all(has(elements, value) for value in wanted)


def equivalent(a: list[object], b: list[object]) -> bool:
    """Whether each list has all values of the other."""
    return contains(a, b) and contains(b, a)


def intersects(a: list[object], b: list[object]) -> bool:
    """Whether the lists have a value in common."""
    return any(has(b, value) for value in a)


def has(elements: list[object], value: object) -> bool:
    """Whether a value is an element; what cannot be compared with it is not it."""
    if type(value) in _SIMPLE:
        kind = type(value)
        return any(type(element) is kind and element == value for element in elements)
    return any(known_equal(value, element) for element in elements)


FUNCTIONS: Final = library(
    "sets",
    Function(
        "sets.contains",
        (plain("list_sets_contains_list", (_LIST, _LIST), BOOL, contains, costs.crossed(1)),),
        "Whether the first list has every value of the second.",
        (("sets.contains([1, 2, 3], [2, 3])", "true"), ("sets.contains([], [1])", "false")),
    ),
    Function(
        "sets.equivalent",
        (plain("list_sets_equivalent_list", (_LIST, _LIST), BOOL, equivalent, costs.crossed(2)),),
        "Whether two lists have the same values, however often.",
        (("sets.equivalent([1, 2], [2, 1, 1])", "true"),),
    ),
    Function(
        "sets.intersects",
        (plain("list_sets_intersects_list", (_LIST, _LIST), BOOL, intersects, costs.crossed(1)),),
        "Whether two lists have a value in common.",
        (("sets.intersects([1], [1, 2])", "true"), ("sets.intersects([1], [])", "false")),
    ),
)
