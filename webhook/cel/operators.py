"""The operators: arithmetic, order and equality of any two values, with cel-go's overflow rules and error texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.keys import MISSING, as_key, bare, find
from webhook.cel.lib import ordering
from webhook.cel.lib.go import strconv
from webhook.cel.lib.memory import sized
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    SECONDS_MAX,
    SECONDS_MIN,
    UINT_MAX,
    Duration,
    MutableList,
    MutableMap,
    Timestamp,
    Uint,
)

NANOS: Final = 1_000_000_000
_NO_OVERLOAD: Final = "no such overload"


def bounded(value: int) -> int:
    """An int64, or `integer overflow`."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError("integer overflow")


def bounded_uint(value: int) -> Uint:
    """A uint64, or `unsigned integer overflow`."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelError("unsigned integer overflow")


def bounded_duration(nanos: int) -> Duration:
    """A duration of an int64 of nanoseconds, or `duration overflow`."""
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise CelError("duration overflow")


def bounded_timestamp(total_nanos: int, zone: int) -> Timestamp:
    """A timestamp within years 1 to 9999 that is written with the offset `zone`, or `timestamp overflow`."""
    seconds, nanos = divmod(total_nanos, NANOS)
    if SECONDS_MIN <= seconds <= SECONDS_MAX:
        return Timestamp(seconds, nanos, zone)
    raise CelError("timestamp overflow")


def _between(a: Timestamp, b: Timestamp) -> Duration:
    """The time from b to a. cel-go checks the whole seconds alone first, so it refuses some that would just fit."""
    seconds = bounded((a.seconds - b.seconds) * NANOS)
    return Duration(bounded(seconds + a.nanos - b.nanos))


def _total(t: Timestamp) -> int:
    return t.seconds * NANOS + t.nanos


def joined_text(a: str, b: str) -> str:
    """`a + b` of strings."""
    sized(len(a) + len(b))
    return a + b


def joined_bytes(a: bytes, b: bytes) -> bytes:
    """`a + b` of bytes."""
    sized(len(a) + len(b))
    return a + b


def joined_lists(a: list[object], b: list[object]) -> list[object]:
    """`a + b` of lists; an accumulator grows in place. An element takes the room of eight characters."""
    if type(a) is MutableList:
        a.extend(b)
        return a
    sized(8 * (len(a) + len(b)))
    return a + b if a and b else a or b


def _divide_int(a: int, b: int) -> int:
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b)
    return bounded(quotient if (a < 0) == (b < 0) else -quotient)


def _modulo_int(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    if a == INT_MIN and b == -1:
        raise CelError("integer overflow")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _divide_uint(a: int, b: int) -> Uint:
    if b == 0:
        raise CelError("division by zero")
    return Uint(int(a) // int(b))


def _modulo_uint(a: int, b: int) -> Uint:
    if b == 0:
        raise CelError("modulus by zero")
    return Uint(int(a) % int(b))


def _divide_double(a: float, b: float) -> float:
    if b == 0.0:
        if a == 0.0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


Binary = Callable[[object, object], object]
Comparison = Callable[[object, object], bool]
_Table = dict[tuple[type, type], Callable[..., object]]
_INTS, _UINTS, _DOUBLES = (int, int), (Uint, Uint), (float, float)
_ADD: Final[_Table] = {
    _INTS: lambda a, b: bounded(a + b),
    _UINTS: lambda a, b: bounded_uint(int(a) + int(b)),
    _DOUBLES: lambda a, b: a + b,
    (str, str): joined_text,
    (bytes, bytes): joined_bytes,
    (list, list): joined_lists,
    (MutableList, list): joined_lists,
    (Duration, Duration): lambda a, b: bounded_duration(a.nanos + b.nanos),
    (Duration, Timestamp): lambda a, b: bounded_timestamp(_total(b) + a.nanos, b.zone),
    (Timestamp, Duration): lambda a, b: bounded_timestamp(_total(a) + b.nanos, a.zone),
}
_SUBTRACT: Final[_Table] = {
    _INTS: lambda a, b: bounded(a - b),
    _UINTS: lambda a, b: bounded_uint(int(a) - int(b)),
    _DOUBLES: lambda a, b: a - b,
    (Duration, Duration): lambda a, b: bounded_duration(a.nanos - b.nanos),
    (Timestamp, Duration): lambda a, b: bounded_timestamp(_total(a) + bounded(-b.nanos), a.zone),
    (Timestamp, Timestamp): lambda a, b: _between(a, b),
}
_MULTIPLY: Final[_Table] = {
    _INTS: lambda a, b: bounded(a * b),
    _UINTS: lambda a, b: bounded_uint(int(a) * int(b)),
    _DOUBLES: lambda a, b: a * b,
}
_DIVIDE: Final[_Table] = {_INTS: _divide_int, _UINTS: _divide_uint, _DOUBLES: _divide_double}
_MODULO: Final[_Table] = {_INTS: _modulo_int, _UINTS: _modulo_uint}
_HAVE: Final = {
    "_+_": frozenset(k[0] for k in _ADD),
    "_-_": frozenset(k[0] for k in _SUBTRACT),
    "_*_": frozenset(k[0] for k in _MULTIPLY),
    "_/_": frozenset(k[0] for k in _DIVIDE),
    "_%_": frozenset(k[0] for k in _MODULO),
}


def _binary(name: str, table: _Table) -> Callable[[object, object], object]:
    have = _HAVE[name]

    def apply(a: object, b: object) -> object:
        found = table.get((type(a), type(b)))
        if found is not None:
            return found(a, b)
        raise CelError(_NO_OVERLOAD if type(a) in have else f"{_NO_OVERLOAD}: {name}")

    return apply


add: Final[Binary] = _binary("_+_", _ADD)
subtract: Final[Binary] = _binary("_-_", _SUBTRACT)
multiply: Final[Binary] = _binary("_*_", _MULTIPLY)
divide: Final[Binary] = _binary("_/_", _DIVIDE)
modulo: Final[Binary] = _binary("_%_", _MODULO)


def negate(a: object) -> object:
    """`-a`."""
    if type(a) is int:
        return bounded(-a)
    if type(a) is float:
        return -a
    if type(a) is Duration:
        return bounded_duration(-a.nanos)
    raise CelError(_NO_OVERLOAD if type(a) is bool else f"{_NO_OVERLOAD}: -_")


def invert(a: object) -> object:
    """`!a`."""
    if a is True:
        return False
    if a is False:
        return True
    raise CelError(_NO_OVERLOAD)


def less(a: object, b: object) -> bool:
    """`a < b`."""
    return ordering.compare(a, b) < 0


def less_equal(a: object, b: object) -> bool:
    """`a <= b`."""
    return ordering.compare(a, b) <= 0


def greater(a: object, b: object) -> bool:
    """`a > b`."""
    return ordering.compare(a, b) > 0


def greater_equal(a: object, b: object) -> bool:
    """`a >= b`."""
    return ordering.compare(a, b) >= 0


equal: Final[Comparison] = ordering.equal


def not_equal(a: object, b: object) -> bool:
    """`a != b`: also true where the two cannot be compared, as cel-go has it."""
    try:
        return not ordering.equal(a, b)
    except CelError:
        return True


def contains(element: object, container: object) -> bool:
    """`element in container`."""
    if isinstance(container, dict):
        return find(container, element) is not MISSING
    if isinstance(container, list):
        return any(ordering.known_equal(element, item) for item in container)
    raise CelError(_NO_OVERLOAD)


def insert(mapping: object, *entry: object) -> object:
    """A map with one more entry, or with those of another map; a key that is there already is an error."""
    if not isinstance(mapping, dict):
        raise CelError(_NO_OVERLOAD)
    if len(entry) == 2:
        pairs = [(entry[0], entry[1])]
    elif isinstance(entry[0], dict):
        pairs = [(bare(k), v) for k, v in entry[0].items()]
    else:
        raise CelError(_NO_OVERLOAD)
    target: dict[object, object] = mapping if type(mapping) is MutableMap else dict(mapping)
    for key, value in pairs:
        if find(target, key) is not MISSING:
            raise CelError(f"insert failed: key {shown(key)} already exists")
        target[as_key(target, key)] = value
    return target


def shown(value: object) -> str:
    """A value as Go's `%v` prints it in an error."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return strconv.shortest(value)
    return str(int(value)) if isinstance(value, int) else str(value)
