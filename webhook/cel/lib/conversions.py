"""Conversions between the basic types, exactly as in cel-go (Go's strconv), and `type`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final, cast

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.go.strconv import shortest, to_bytes
from webhook.cel.lib.rows import library, of_text, plain
from webhook.cel.lib.times import OVERFLOW, duration_text, parse_duration, parse_timestamp, timestamp_text
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    SECONDS_MAX,
    SECONDS_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    TypeValue,
    Uint,
)

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_DECIMAL: Final = re.compile(r"[+-]?(?=[0-9.])(?:[0-9][0-9_]*)?(?:\.[0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?")
_HEX: Final = re.compile(r"([+-]?)0[xX](?=[0-9a-fA-F_.])([0-9a-fA-F_]*)(?:\.([0-9a-fA-F_]*))?[pP]([+-]?[0-9][0-9_]*)")
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


def _refuse(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


def double_to_int(number: float) -> int:
    """The double cut towards zero; CelError outside of an int64 (its ends excluded, as cel-go does)."""
    if not -9.223372036854775808e18 < number < 9.223372036854775808e18:
        raise CelError("integer overflow")
    return int(number)


def uint_to_int(number: int) -> int:
    """The unsigned integer as a signed one."""
    if number > INT_MAX:
        raise CelError("integer overflow")
    return int(number)


def string_to_int(text: str) -> int:
    """The decimal integer with an optional sign that the text is."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) < 20:
        number = int(text)
        if INT_MIN <= number <= INT_MAX:
            return number
    raise _refuse("string", "int")


def double_to_uint(number: float) -> Uint:
    """The double cut towards zero; CelError below zero or from 2**64 on."""
    if not 0 <= number < 18446744073709551616.0:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def int_to_uint(number: int) -> Uint:
    """The signed integer as an unsigned one."""
    if number < 0:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def string_to_uint(text: str) -> Uint:
    """The decimal integer without a sign that the text is."""
    if text.isascii() and text.isdigit() and len(text.lstrip("0")) < 21:
        number = int(text)
        if number <= UINT_MAX:
            return Uint(number)
    raise _refuse("string", "uint")


def string_to_double(text: str) -> float:
    """The double that the text is: decimal or hexadecimal, `inf`, `nan`, `_` between digits; CelError if too big."""
    number = _parse_double(text)
    if number is None:
        raise _refuse("string", "double")
    return number


def _parse_double(text: str) -> float | None:
    if _INFINITE.fullmatch(text):
        return -math.inf if text[0] == "-" else math.inf
    if text.lower() == "nan":
        return math.nan
    match = _HEX.fullmatch(text)
    if "_" in text and not _underscores_fit(text, match is not None):
        return None
    try:
        if match:
            digits = text.replace("_", "")
            number = float.fromhex(digits)
        elif _DECIMAL.fullmatch(text) and any(char.isdigit() for char in text.lower().partition("e")[0]):
            number = float(text.replace("_", ""))
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return None if math.isinf(number) else number


def _underscores_fit(text: str, hexadecimal: bool) -> bool:
    """Whether each underscore stands between two digits, or between a base prefix and a digit."""
    last, rest = "", text[1:] if text[0] in "+-" else text
    if hexadecimal:
        last, rest = "0", rest[2:]
    for char in rest:
        digit = char.isdigit() or (hexadecimal and char in "abcdefABCDEF")
        if (char == "_" and last != "0") or (last == "_" and not digit):
            return False
        last = "0" if digit else char
    return last != "_"


def string_to_bool(text: str) -> bool:
    """The truth that the text names: 1 t T TRUE true True and their opposites."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _refuse("string", "bool")


def bytes_to_string(data: bytes) -> str:
    """The text whose UTF-8 the bytes are."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def string_to_duration(text: str) -> Duration:
    """The duration that the text is, e.g. `1h30m`."""
    duration = parse_duration(text)
    if duration is None:
        raise _refuse("string", "google.protobuf.Duration")
    return duration


def int_to_duration(number: int) -> Duration:
    """Nothing: the overload is declared, and every call fails (as in cel-go)."""
    raise _refuse("int", "google.protobuf.Duration")


def string_to_timestamp(text: str) -> Timestamp:
    """The time that the text is, in RFC 3339."""
    time = parse_timestamp(text)
    if time is None:
        raise _refuse("string", "google.protobuf.Timestamp")
    return time


def int_to_timestamp(number: int) -> Timestamp:
    """The time that many seconds after 1970."""
    if not SECONDS_MIN <= number <= SECONDS_MAX:
        raise CelError(OVERFLOW)
    return Timestamp(number)


def to_string(value: object) -> str:
    """Any plain value as text, as the function `string` and the verb %s write it."""
    return _TO_STRING[type(value)](value)


_TO_STRING: Final[dict[type, Callable[..., str]]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    Uint: lambda value: str(int(value)),
    float: shortest,
    bytes: bytes_to_string,
    Duration: duration_text,
    Timestamp: timestamp_text,
    TypeValue: lambda value: cast("TypeValue", value).name,
    type(None): lambda value: "null",
}


def _same(value: object) -> object:
    return value


FUNCTIONS: Final = library(
    "standard",
    Function(
        "bool",
        (
            plain("bool_to_bool", (BOOL,), BOOL, _same, costs.nominal),
            plain("string_to_bool", (STRING,), BOOL, string_to_bool, costs.nominal),
        ),
        "A truth value from a text.",
        (
            ("bool('true')", "true"),
            ("bool('T')", "true"),
            ("bool('tRUE')", "error: type conversion error from 'string' to 'bool'"),
        ),
        conversion=True,
    ),
    Function(
        "bytes",
        (
            plain("bytes_to_bytes", (BYTES,), BYTES, _same, costs.nominal),
            plain("string_to_bytes", (STRING,), BYTES, to_bytes, costs.ENCODED),
        ),
        "The UTF-8 of a text.",
        (("bytes('hello')", "b'hello'"),),
        conversion=True,
    ),
    Function(
        "double",
        (
            plain("double_to_double", (DOUBLE,), DOUBLE, _same, costs.nominal),
            plain("int64_to_double", (INT,), DOUBLE, float, costs.nominal),
            plain("string_to_double", (STRING,), DOUBLE, string_to_double, costs.nominal),
            plain("uint64_to_double", (UINT,), DOUBLE, float, costs.nominal),
        ),
        "A double from a number or a text.",
        (("double('1.23')", "1.23"), ("double(3u)", "3.0"), ("double('0x1p-2')", "0.25")),
        conversion=True,
    ),
    Function(
        "duration",
        (
            plain("duration_to_duration", (DURATION,), DURATION, _same, costs.nominal),
            plain("int64_to_duration", (INT,), DURATION, int_to_duration, costs.nominal),
            of_text("string_to_duration", DURATION, string_to_duration, costs.nominal),
        ),
        "A duration from a text with units h m s ms us ns.",
        (("duration('1h2m3s')", "duration('3723s')"),),
        conversion=True,
    ),
    Function(
        "int",
        (
            plain("int64_to_int64", (INT,), INT, _same, costs.nominal),
            plain("double_to_int64", (DOUBLE,), INT, double_to_int, costs.nominal),
            plain("duration_to_int64", (DURATION,), INT, lambda value: value.nanos, costs.nominal),
            plain("string_to_int64", (STRING,), INT, string_to_int, costs.nominal),
            plain("timestamp_to_int64", (TIMESTAMP,), INT, lambda value: value.seconds, costs.nominal),
            plain("uint64_to_int64", (UINT,), INT, uint_to_int, costs.nominal),
        ),
        "An integer from a number, a text, a duration (nanoseconds) or a time (seconds since 1970).",
        (("int('-456')", "-456"), ("int(123.9)", "123"), ("int(duration('1s'))", "1000000000")),
        conversion=True,
    ),
    Function(
        "string",
        tuple(
            plain(f"{name}_to_string", (of,), STRING, to_string, cost)
            for name, of, cost in (
                ("string", STRING, costs.nominal),
                ("bool", BOOL, costs.nominal),
                ("bytes", BYTES, costs.DECODED),
                ("double", DOUBLE, costs.nominal),
                ("duration", DURATION, costs.nominal),
                ("int64", INT, costs.nominal),
                ("timestamp", TIMESTAMP, costs.nominal),
                ("uint64", UINT, costs.nominal),
            )
        ),
        "A value as text.",
        (("string(-1.23e4)", "'-12300'"), ("string(1e21)", "'1e+21'"), ("string(duration('1h30m'))", "'5400s'")),
        conversion=True,
    ),
    Function(
        "timestamp",
        (
            plain("timestamp_to_timestamp", (TIMESTAMP,), TIMESTAMP, _same, costs.nominal),
            plain("int64_to_timestamp", (INT,), TIMESTAMP, int_to_timestamp, costs.nominal),
            of_text("string_to_timestamp", TIMESTAMP, string_to_timestamp, costs.nominal),
        ),
        "A time from a text in RFC 3339 or from seconds since 1970.",
        (("timestamp(1)", "timestamp('1970-01-01T00:00:01Z')"),),
        conversion=True,
    ),
    Function(
        "uint",
        (
            plain("uint64_to_uint64", (UINT,), UINT, _same, costs.nominal),
            plain("double_to_uint64", (DOUBLE,), UINT, double_to_uint, costs.nominal),
            plain("int64_to_uint64", (INT,), UINT, int_to_uint, costs.nominal),
            plain("string_to_uint64", (STRING,), UINT, string_to_uint, costs.nominal),
        ),
        "An unsigned integer from a number or a text.",
        (("uint('123')", "123u"), ("uint(123.45)", "123u")),
        conversion=True,
    ),
)
