"""Run-time costs of calls as in cel-go and the API server, each with its static estimate (`estimates.py`) and a text.

A function's row names its cost: that of `matches` is `MATCHED`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.function_types import Price
from webhook.cel.lib import estimates
from webhook.cel.values import Optional

STRING_FACTOR: Final = estimates.STRING_FACTOR
REGEX_FACTOR: Final = estimates.REGEX_FACTOR
LIST_BASE: Final = estimates.LIST_BASE
MAP_BASE: Final = estimates.MAP_BASE
STRUCT_BASE: Final = estimates.STRUCT_BASE
UNITS_MAX: Final = 2**64 - 1
"""Cost units are counted in a uint64, which wraps."""


def size(value: object) -> int:
    """How big a value counts: characters, bytes, elements, entries; an address by its bytes; anything else 1."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if type(value) is int:
        return 1
    own = getattr(value, "cel_size", None)
    return int(own) if own is not None else 1


def traversal(count: int, factor: float = STRING_FACTOR) -> int:
    """The cost of reading `count` characters."""
    return math.ceil(count * factor)


def nominal(arguments: Sequence[object], result: object) -> int:
    """Cost 1."""
    return 1


def compared_size(value: object) -> int:
    """How big a value is for the cost of comparing it: an optional as what it holds."""
    if isinstance(value, Optional) and value.present:
        return compared_size(value.value)
    return size(value)


def compared(operands: Sequence[object], _: object = None) -> int:
    """The cost of `!=` and of ordering texts: a tenth of the smaller one."""
    a, b = operands
    if type(a) is str and type(b) is str:
        return math.ceil(min(len(a), len(b)) * STRING_FACTOR)
    return math.ceil(min(compared_size(operands[0]), compared_size(operands[1])) * STRING_FACTOR)


def equal(operands: Sequence[object], _: object = None) -> int:
    """The cost of `==`: 1 where the left side is one of Kubernetes' own values, whatever it is compared with."""
    declared = None if type(operands[0]) is str else getattr(operands[0], "cel_type", None)
    return 1 if declared is not None and declared.name in estimates.KUBERNETES else compared(operands)


def joined(operands: Sequence[object], _: object = None) -> int:
    """The cost of `+` of texts or bytes: a tenth of both."""
    return math.ceil((compared_size(operands[0]) + compared_size(operands[1])) * STRING_FACTOR)


def listed(operands: Sequence[object], _: object = None) -> int:
    """The cost of `in` of a list: its elements."""
    return compared_size(operands[1])


_TENTH: Final = "1 for each 10 characters"


def _reading(argument: int, times: int = 1) -> Callable[[Sequence[object], object], int]:
    factor = times * STRING_FACTOR
    return lambda arguments, result: math.ceil(size(arguments[argument]) * factor)


def read(argument: int = 0, times: int = 1) -> Price:
    """Cost of reading one argument `times` times."""
    words = f"{_TENTH} of the text" if times == 1 else f"{times} for each 10 characters of the text"
    return Price(_reading(argument, times), estimates.read(argument, times), words)


KEPT: Final[Price] = Price(_reading(0), estimates.kept, f"{_TENTH} of the text")
"""Cost of reading a text that gives one as long."""
ENCODED: Final[Price] = Price(_reading(0), estimates.encoded, f"{_TENTH}")
DECODED: Final[Price] = Price(_reading(0), estimates.decoded, "1 for each 10 bytes")
QUOTED: Final[Price] = Price(_reading(0), estimates.quoted, f"{_TENTH}")
BEGUN: Final[Price] = Price(_reading(0), estimates.read(1), f"{_TENTH} of the text")
"""Cost of looking at an end of a text; cel-go estimates it by the part looked for, and charges by the text."""
REPLACED: Final[Price] = Price(_reading(0, 2), estimates.replaced, "2 for each 10 characters of the text")
DIVIDED: Final[Price] = Price(_reading(0, 2), estimates.divided, "2 for each 10 characters of the text")


def _written(arguments: Sequence[object], result: object) -> int:
    return math.ceil(size(result) * 2 * STRING_FACTOR)


WRITTEN: Final[Price] = Price(_written, estimates.joined, "2 for each 10 characters of the result")
"""Cost of building the result, twice its characters; estimated with once."""


def _matched(arguments: Sequence[object], result: object) -> int:
    text, pattern = size(arguments[0]), size(arguments[1])
    return math.ceil((1.0 + text) * STRING_FACTOR) * math.ceil(pattern * REGEX_FACTOR)


_PATTERN: Final = "1 for each 10 characters of the text, times 1 for each 4 of the pattern"
MATCHED: Final[Price] = Price(_matched, estimates.matched, _PATTERN)
FOUND: Final[Price] = Price(_matched, estimates.found, _PATTERN)


def _contained(arguments: Sequence[object], result: object) -> int:
    return traversal(size(arguments[0])) * traversal(size(arguments[1]))


CONTAINED: Final[Price] = Price(_contained, estimates.contained, f"{_TENTH} of the text, times {_TENTH} of the part")


def _walked(arguments: Sequence[object], result: object) -> int:
    return walk(arguments[0])


WALKED: Final[Price] = Price(_walked, estimates.walked, f"1 for each element of a list, {_TENTH} of texts")
"""Cost of a function that goes once through all of its first argument, however deep."""


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


def _listed(arguments: Sequence[object], result: object) -> int:
    return allocated(1, size(result))


def _ranged(arguments: Sequence[object], result: object) -> int:
    """The cost of the list that will be made: known, so that too long a one never is."""
    count = arguments[0]
    return allocated(1, max(count, 0) if type(count) is int else 1)


_RESULT: Final = "11, and 1 for each element of the result"
SLICED: Final[Price] = Price(_listed, estimates.sliced, _RESULT)
RANGED: Final[Price] = Price(_ranged, estimates.ranged, _RESULT)
COPIED: Final[Price] = Price(_listed, estimates.copied, _RESULT)


def unsigned(number: float) -> int:
    """What Go makes of a double as a uint64 on amd64: negative ones wrap, and what is out of range is 2**63."""
    if number < -(2.0**63) or number >= 2.0**64:
        return 2**63
    return int(number) & UNITS_MAX


def _flattened(arguments: Sequence[object], result: object) -> int:
    depth = arguments[1] if len(arguments) == 2 else 1
    units = unsigned((float(depth) if isinstance(depth, int) else 1.0) * size(arguments[0]))
    return (units + allocated(0, 0)) & UNITS_MAX


FLATTENED: Final[Price] = Price(_flattened, estimates.flattened, "11, and the depth for each element of the list")


def self_compared(argument: int = 0, *, texts: bool = False) -> Price:
    """Cost of comparing all elements of a list with each other; `texts`: they are texts or bytes."""

    def cost(arguments: Sequence[object], result: object) -> int:
        elements = arguments[argument]
        if not isinstance(elements, list):
            return 0  # cel-go's own count crashes there, and the evaluation with it
        if not elements:
            return allocated(2, 0)
        factor = 2.0 + (STRING_FACTOR if isinstance(elements[0], (str, bytes)) else 0)
        return allocated(factor, len(elements) ** 2)

    return Price(cost, estimates.self_compared(argument, texts), "11, and 2 for each pair of elements (2.1 of texts)")


def crossed(times: int) -> Price:
    """Cost of comparing each element of one list with each of another, `times` times."""
    words = f"1, and {times} for each pair of elements of the two lists"
    spend = lambda arguments, result: 1 + size(arguments[0]) * size(arguments[1]) * times  # noqa: E731
    return Price(spend, estimates.crossed(times), words)
