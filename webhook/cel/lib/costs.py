"""Run-time cost of calls: the sizes and factors that cel-go and the API server charge with. No function is here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from webhook.cel.overloads import Cost

STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
LIST_BASE: Final = 10


def size(value: object) -> int:
    """How big a value counts: characters, bytes, elements, entries; an address by its bytes; anything else 1."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    own = getattr(value, "cel_size", None)
    return int(own) if own is not None else 1


def traversal(count: int, factor: float = STRING_FACTOR) -> int:
    """The cost of reading `count` characters."""
    return math.ceil(count * factor)


def nominal(arguments: Sequence[object], result: object) -> int:
    """Cost 1."""
    return 1


def read(argument: int = 0, times: int = 1) -> Cost:
    """Cost of reading one argument `times` times."""
    factor = times * STRING_FACTOR
    return lambda arguments, result: math.ceil(size(arguments[argument]) * factor)


def written(arguments: Sequence[object], result: object) -> int:
    """Cost of building the result, twice its characters."""
    return math.ceil(size(result) * 2 * STRING_FACTOR)


def matched(arguments: Sequence[object], result: object) -> int:
    """Cost of a regular expression over a text."""
    text, pattern = size(arguments[0]), size(arguments[1])
    return math.ceil((1.0 + text) * STRING_FACTOR) * math.ceil(pattern * REGEX_FACTOR)


def contained(arguments: Sequence[object], result: object) -> int:
    """Cost of looking for a text in a text."""
    return traversal(size(arguments[0])) * traversal(size(arguments[1]))


def walked(arguments: Sequence[object], result: object) -> int:
    """Cost of a function that goes once through all of its first argument, however deep."""
    return walk(arguments[0])


def walk(value: object) -> int:
    """Cost of going through a value: texts by their bytes, lists and maps by their members, the rest 1 each."""
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogateescape")) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(map(walk, value))
    if isinstance(value, dict):
        return sum(walk(key) + walk(member) for key, member in value.items())
    return 1


def allocated(factor: float, count: int) -> int:
    """Cost of a call that makes a list."""
    return int(count * factor) + 1 + LIST_BASE


def listed(arguments: Sequence[object], result: object) -> int:
    """Cost of making the resulting list."""
    return allocated(1, size(result))


def flattened(arguments: Sequence[object], result: object) -> int:
    """Cost of flattening the first argument to the depth of the second."""
    depth = arguments[1] if len(arguments) == 2 else 1
    return allocated(float(depth) if isinstance(depth, int) else 1, size(arguments[0]))


def self_compared(argument: int = 0) -> Cost:
    """Cost of comparing all elements of a list with each other."""

    def cost(arguments: Sequence[object], result: object) -> int:
        elements = arguments[argument]
        if not isinstance(elements, list) or not elements:
            return allocated(2, 0)
        factor = 2.0 + (STRING_FACTOR if isinstance(elements[0], (str, bytes)) else 0)
        return allocated(factor, len(elements) ** 2)

    return cost


def crossed(times: int) -> Cost:
    """Cost of comparing each element of one list with each of another, `times` times."""
    return lambda arguments, result: 1 + size(arguments[0]) * size(arguments[1]) * times
