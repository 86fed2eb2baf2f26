"""What a rule of the queue may give: the one total order of sort keys, and the values that a point takes.

Most of it is settled when a rule is compiled, by its type; only what is dynamic is looked at when the rule is asked.
A value that will not do is an evaluation error of the rule, with its place. No rule is compiled here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import Any, Final

from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT, Type
from webhook.cel.values import Duration, Timestamp
from webhook.queue.rules import Variant

Fix = Callable[[Any], Any]
"""Gives a value as the queue core takes it. Raises BadValue."""

_ORDERED: Final = frozenset({INT, UINT, BOOL, STRING, BYTES, TIMESTAMP, DURATION, NULL})
"""Static types whose values compare with each other as they are."""
_UNORDERED: Final = frozenset({"map", "type", "optional"})
_RANKS: Final[dict[type[Any], int]] = {bool: 1, float: 2, str: 3, bytes: 4, Timestamp: 5, Duration: 6}
_LISTS: Final = 7
_VARIANTS: Final = frozenset(variant.value for variant in Variant)


class BadValue(ValueError):
    """A rule gave what its point cannot take."""


def sortable(value: Any) -> Any:
    """Return a key of a dynamic type as one that compares with every other: first by type, then by value.

    The order of types: null, bool, numbers (int, uint and double by their value, NaN as infinity), string, bytes,
    timestamp, duration, list (element by element). Raises BadValue for everything else.
    """
    if value is None:
        return (0,)
    if isinstance(value, list):
        return (_LISTS, *map(sortable, value))
    rank = _RANKS.get(type(value))
    if rank is None and isinstance(value, int):
        rank = _RANKS[float]
    if rank is None:
        raise BadValue(f"a sort key cannot be {_name(value)}: it has no order")
    return (rank, _number(value))


def key_fix(type_: Type) -> Fix | None:
    """Return what makes keys of a static type comparable, None where they are. Raises BadValue where they cannot be."""
    if type_ in _ORDERED:
        return None
    if type_ == DOUBLE:
        return _number
    if type_.name in _UNORDERED:
        raise BadValue(f"a sort key cannot be {type_}: it has no order")
    return sortable


def result_fix(method: str, wanted: Type, found: Type, values: Collection[object] | None) -> Fix | None:
    """Return what looks at the results of a point that gives `wanted`; None where the static type `found` will do.

    `values` are all that the expression may give, None where that is not known.
    """
    if method == "candidate":
        return None if values is not None and _VARIANTS.issuperset(values) else _variant
    if wanted == DOUBLE:
        return _share
    if method in _BOUNDS:
        return _bounded(*_BOUNDS[method])
    if found == wanted:
        return None
    found_fix: Fix = _CHECKS.get(wanted, _truths)
    return found_fix


def _number(value: Any) -> Any:
    """Return NaN as infinity: it sorts last."""
    return value if value == value else inf


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise BadValue(f"returned {_name(value)}, expected a number")
    if value < 0:
        raise BadValue(f"returned {value}; a share must not be negative")
    return value


def _bounded(most: int, what: str) -> Fix:
    def bounded(value: Any) -> int:
        if not 0 <= _whole(value) <= most:
            raise BadValue(f"returned {value}, expected {what}")
        return int(value)

    return bounded


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadValue(f"returned {_name(value)}, expected an int")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"returned {_name(value)}, expected a bool")
    return value


def _truths(value: Any) -> Any:
    if not isinstance(value, list):
        raise BadValue(f"returned {_name(value)}, expected a list of bools")
    return [_truth(item) for item in value]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"returned {_name(value)}, expected a string")
    return value


_TIME: Final = (253_402_300_799_999, "a time in milliseconds from 1970 on, up to the year 9999")
_QUOTA: Final = (2**63 - 1, "an amount, which is never negative")
_BOUNDS: Final = {"requeue": _TIME, "notBefore": _TIME, "guaranteed": _QUOTA, "most": _QUOTA}
_CHECKS: Final[Mapping[Type, Fix]] = {INT: _whole, BOOL: _truth, STRING: _text}


def _variant(value: Any) -> str:
    if isinstance(value, str) and value in _VARIANTS:
        return value
    shown = repr(value) if isinstance(value, str) else _name(value)
    raise BadValue(f"returned {shown}, expected one of {', '.join(v.value for v in Variant)}")


def _name(value: Any) -> str:
    """Name a value's type as CEL does; NaN by its own name."""
    if isinstance(value, float) and value != value:
        return "NaN"
    names = {type(None): "null", bool: "a bool", float: "a double", str: "a string", bytes: "bytes", dict: "a map"}
    return names.get(type(value)) or ("an int" if isinstance(value, int) else f"a {type(value).__name__.lower()}")
