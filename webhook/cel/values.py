"""The values of the language besides those of JSON: uint, timestamps, durations, optionals, types, objects.

int, double, bool, string, bytes, null, list and map are Python's own int, float, bool, str, bytes, None, list and
dict. An opaque value is a class with a class attribute `cel_type` and, where equality can fail, a method
`cel_equal(other) -> bool`. Arithmetic is in `operators.py`, functions are in the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from webhook.cel.types import OPTIONAL, Type

INT_MAX: Final = 2**63 - 1
INT_MIN: Final = -(2**63)
UINT_MAX: Final = 2**64 - 1
SECONDS_MIN: Final = -62135596800
SECONDS_MAX: Final = 253402300799


class Uint(int):
    """An unsigned 64-bit integer. Compares and hashes as the int; arithmetic on it is the run time's."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The literal, e.g. `5u`."""
        return f"{int(self)}u"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time: seconds since 1970 UTC (may be negative) and nanoseconds 0 to 999,999,999.

    `zone` is the offset that it was written with, in seconds east of UTC: `string()` shows it, arithmetic keeps it, and
    it is no part of equality.
    """

    seconds: int
    nanos: int = 0
    zone: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds, within an int64."""

    nanos: int


class MutableList(list[object]):
    """The accumulator of a comprehension that makes a list: `+` extends it."""

    __slots__ = ()


class MutableMap(dict[object, object]):
    """The accumulator of a comprehension that makes a map."""

    __slots__ = ()


class _Absent:
    """The one thing an empty optional holds."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional: `Optional(v)` holds v, `NONE` nothing."""

    value: object = ABSENT

    @property
    def present(self) -> bool:
        """Whether it holds a value."""
        return self.value is not ABSENT


NONE: Final = Optional()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(1)` and the word `int` give. Equal by name."""

    name: str


@dataclass(slots=True)
class ObjectValue:
    """What `Object{…}` and `Object.spec{…}` give: the name of the type and the fields that were set, in order."""

    type_name: str
    fields: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class JSONPatchValue:
    """One operation of a JSON patch, as `JSONPatch{…}` gives it. `value` is ABSENT where none was set."""

    op: str = ""
    path: str = ""
    from_: str = ""
    value: object = ABSENT


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: OPTIONAL,
    TypeValue: "type",
    JSONPatchValue: "JSONPatch",
}


def type_name(value: object) -> str:
    """The run-time type of `value` as cel-go names it in `no such overload: f(int, string)`."""
    if (name := _NAMES.get(type(value))) is not None:
        return name
    if isinstance(value, ObjectValue):
        return value.type_name
    declared = getattr(value, "cel_type", None)
    if isinstance(declared, Type):
        return declared.name
    for base in type(value).__mro__[1:]:
        if base in _NAMES:
            return _NAMES[base]
    return type(value).__name__
