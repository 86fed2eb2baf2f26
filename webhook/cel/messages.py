"""Protobuf's well-known messages, which CEL converts to plain values: Struct, Value, wrappers, Timestamp, Duration.

Source: cel-go's standard type provider. There are no other message types.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.lib import conversions
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    nullable,
)
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    SECONDS_MAX,
    SECONDS_MIN,
    Duration,
    Optional,
    Timestamp,
    Uint,
    type_name,
)

_SAFE: Final = 2**53 - 1
_BEYOND: Final = 10**10
"""How many seconds a Timestamp message may lie outside of the years 1 to 9999: a little more than 300 years."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message: what it is as a value, its fields, and how it is made from those that are set."""

    type: Type
    fields: Mapping[str, Type]
    make: Callable[[Mapping[str, Any]], object]


def _json(value: Any) -> Any:
    """A value as google.protobuf.Value holds it: every number a double, what JSON has not as text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return float(value) if abs(value) <= _SAFE else str(int(value))
    if isinstance(value, float):
        return value
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (Duration, Timestamp)):
        return conversions.to_string(value)
    if isinstance(value, Optional) and value.present:
        return _json(value.value)
    raise CelError(f"type conversion error from '{type_name(value)}' to '*structpb.Value'")


def _wrapper(name: str, plain: Type, zero: Any, low: float = 0, high: float = 0) -> Message:
    def make(fields: Mapping[str, Any]) -> object:
        value = fields.get("value", zero)
        problem = f"field type conversion error for google.protobuf.{name}.value value type: "
        if type(value) is not type(zero):
            raise CelError(f"{problem}unsupported native conversion from {type_name(value)}")
        if high and not low <= value <= high:
            raise CelError(f"{problem}{'unsigned ' if plain is UINT else ''}integer overflow")
        return struct.unpack("f", struct.pack("f", value))[0] if name == "FloatValue" else value

    return Message(nullable(plain), {"value": plain}, make)


def _value(fields: Mapping[str, Any]) -> object:
    """A Value is the field that was set last; each is of its own type."""
    for field, wanted in (("number_value", float), ("string_value", str), ("bool_value", bool)):
        if field in fields and type(fields[field]) is not wanted:
            problem = f"field type conversion error for google.protobuf.Value.{field} value type: "
            raise CelError(f"{problem}unsupported native conversion from {type_name(fields[field])}")
    return _json([*fields.values()][-1]) if fields and "null_value" not in fields else None


def _time(name: str, fields: Mapping[str, Any]) -> tuple[int, int]:
    """The seconds (an int64) and nanoseconds (an int32, not only of one second) of a Timestamp or Duration."""
    for field, bits in (("seconds", 64), ("nanos", 32)):
        problem = f"field type conversion error for google.protobuf.{name}.{field} value type: "
        value = fields.get(field, 0)
        if type(value) is not int:
            raise CelError(f"{problem}unsupported native conversion from {type_name(value)} to 'int{bits}'")
        if abs(2 * value + 1) >= 2**bits:
            raise CelError(f"{problem}integer overflow")
    return fields.get("seconds", 0), fields.get("nanos", 0)


def _timestamp(fields: Mapping[str, Any]) -> object:
    seconds, nanos = _time("Timestamp", fields)
    if not SECONDS_MIN - _BEYOND <= seconds <= SECONDS_MAX + _BEYOND:
        raise CelError("google.protobuf.Timestamp.seconds out of range")
    return Timestamp(seconds + nanos // 10**9, nanos % 10**9)


def _duration(fields: Mapping[str, Any]) -> object:
    seconds, nanos = _time("Duration", fields)
    at_once = min(max(seconds * 10**9, INT_MIN), INT_MAX)
    return Duration(min(max(seconds * 10**9 + nanos, INT_MIN), INT_MAX) if at_once == seconds * 10**9 else at_once)


_ANY_MAP, _ANY_LIST = map_of(STRING, DYN), list_of(DYN)
_KINDS: Final = {
    "number_value": DOUBLE,
    "string_value": STRING,
    "bool_value": BOOL,
    "struct_value": _ANY_MAP,
    "list_value": _ANY_LIST,
    "null_value": INT,
}
_TIME: Final = {"seconds": INT, "nanos": INT}
MESSAGES: Final[dict[str, Message]] = {
    f"google.protobuf.{name}": message
    for name, message in {
        "Struct": Message(_ANY_MAP, {"fields": _ANY_MAP}, lambda fields: _json(fields.get("fields", {}))),
        "ListValue": Message(_ANY_LIST, {"values": _ANY_LIST}, lambda fields: _json(fields.get("values", []))),
        "Value": Message(DYN, _KINDS, _value),
        "Int32Value": _wrapper("Int32Value", INT, 0, -(2**31), 2**31 - 1),
        "Int64Value": _wrapper("Int64Value", INT, 0),
        "UInt32Value": _wrapper("UInt32Value", UINT, Uint(0), 0, 2**32 - 1),
        "UInt64Value": _wrapper("UInt64Value", UINT, Uint(0)),
        "BoolValue": _wrapper("BoolValue", BOOL, False),
        "StringValue": _wrapper("StringValue", STRING, ""),
        "BytesValue": _wrapper("BytesValue", BYTES, b""),
        "FloatValue": _wrapper("FloatValue", DOUBLE, 0.0),
        "DoubleValue": _wrapper("DoubleValue", DOUBLE, 0.0),
        "Timestamp": Message(TIMESTAMP, _TIME, _timestamp),
        "Duration": Message(DURATION, _TIME, _duration),
    }.items()
}
