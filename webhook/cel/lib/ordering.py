"""Equality and order of any two values by CEL's rules, for library functions on lists, sets and sorting.

A bool is not a number; int, uint and double compare by value; NaN equals nothing. The operators of the language are in
`operators.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.keys import MISSING, bare, find
from webhook.cel.lib.go.strconv import to_bytes
from webhook.cel.lib.identity import equal_objects, equal_patches
from webhook.cel.values import Duration, JSONPatchValue, ObjectValue, Optional, Timestamp, Uint

NO_OVERLOAD: Final = "no such overload"
NAN_UNORDERED: Final = "NaN values cannot be ordered"
_NUMBERS: Final = frozenset({int, Uint, float})
_COMPARABLE: Final = frozenset({int, Uint, float, bool, str, bytes, Timestamp, Duration})


def comparable(value: object) -> bool:
    """Whether values of this type have an order at all."""
    return type(value) in _COMPARABLE


def compare(a: object, b: object) -> int:
    """-1, 0 or 1; CelError `no such overload` where the types have no common order, or where one is NaN."""
    kind, other = type(a), type(b)
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(a, b)  # type: ignore[arg-type]
    if kind is not other or kind not in _COMPARABLE:
        raise CelError(NO_OVERLOAD)
    if isinstance(a, str) and isinstance(b, str):
        a, b = to_bytes(a), to_bytes(b)
    return int(a > b) - int(a < b)  # type: ignore[operator]


def _compare_numbers(a: int | float, b: int | float) -> int:
    if a != a or b != b:
        raise CelError(NAN_UNORDERED)
    if isinstance(a, float) != isinstance(b, float):
        # cel-go turns the integer into a double unless the double is out of the integer's range.
        if isinstance(a, float):
            return _compare_double_integer(a, int(b), isinstance(b, Uint))
        return -_compare_double_integer(float(b), int(a), isinstance(a, Uint))
    return (a > b) - (a < b)


def _compare_double_integer(number: float, integer: int, unsigned: bool) -> int:
    if math.isinf(number):
        return 1 if number > 0 else -1
    if unsigned:
        if number < 0:
            return -1
        if number > 1.8446744073709552e19:
            return 1
    else:
        if number < -9.223372036854775808e18:
            return -1
        if number > 9.223372036854775807e18:
            return 1
    rounded = float(integer)
    return (number > rounded) - (number < rounded)


def equal(a: object, b: object) -> bool:
    """Whether two values are the same value; CelError where one is opaque and not comparable with the other.

    Source: cel-go types.Equal. Inside lists and maps an error of one pair does not make the whole unequal.
    """
    kind, other = type(a), type(b)
    if kind in _NUMBERS:
        return other in _NUMBERS and _equal_numbers(a, b)  # type: ignore[arg-type]
    if a is None or b is None:
        return a is b
    rule: Callable[[object, object], bool] | None = _RULES.get(kind)
    if rule is not None:
        return kind is other and rule(a, b)
    own = getattr(a, "cel_equal", None)
    if own is not None:
        return bool(own(b))
    return kind is other and a == b


def _equal_numbers(a: int | float, b: int | float) -> bool:
    if a != a or b != b:
        return False
    return _compare_numbers(a, b) == 0


def _equal_lists(a: list[object], b: list[object]) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


def _equal_maps(a: dict[object, object], b: dict[object, object]) -> bool:
    if len(a) != len(b):
        return False
    for key, value in a.items():
        other = find(b, bare(key))
        if other is MISSING or not same(value, other):
            return False
    return True


def _equal_optionals(a: Optional, b: Optional) -> bool:
    if not a.present or not b.present:
        return a.present == b.present
    if b.value is None and (own := getattr(a.value, "cel_equal", None)) is not None:
        return bool(own(None))  # the value itself is asked here, before null is told from it
    return equal(a.value, b.value)


def same(a: object, b: object) -> bool:
    """Equality of two members of lists or maps: what cannot be compared does not make the difference."""
    try:
        return equal(a, b)
    except CelError:
        return True


def known_equal(a: object, b: object) -> bool:
    """Whether two values compare and are equal; what cannot be compared is not equal (membership)."""
    try:
        return equal(a, b)
    except CelError:
        return False


_RULES: Final[dict[type, Callable[..., bool]]] = {
    bool: lambda a, b: bool(a is b),
    str: lambda a, b: bool(a == b),
    bytes: lambda a, b: bool(a == b),
    list: _equal_lists,
    dict: _equal_maps,
    Optional: _equal_optionals,
    ObjectValue: equal_objects,
    JSONPatchValue: lambda a, b: equal_patches(a, b, equal),
}
