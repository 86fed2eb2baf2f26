"""What cel-python answers to a row of the CEL specification, in the form of our own answers.

It is another implementation of the language, by other people, from the specification: where both give the same, it is
not because one copies the other's mistake. It knows neither optionals nor the API server's libraries.
"""

import base64
import datetime
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any

import celpy
from celpy import celtypes
from celpy.evaluation import CELEvalError

from webhook.cel import batch
from webhook.cel.lib.times import parse_timestamp
from webhook.cel.values import Duration, TypeValue, Uint

JSON = Mapping[str, Any]
TYPES = {
    "bool": celtypes.BoolType,
    "bytes": celtypes.BytesType,
    "double": celtypes.DoubleType,
    "google.protobuf.Duration": celtypes.DurationType,
    "google.protobuf.Timestamp": celtypes.TimestampType,
    "int": celtypes.IntType,
    "list": celtypes.ListType,
    "map": celtypes.MapType,
    "null_type": type(None),
    "string": celtypes.StringType,
    "type": celtypes.TypeType,
    "uint": celtypes.UintType,
}
NAMES = {kind: name for name, kind in TYPES.items()}
LACKING = ("undeclared reference to ", "No 'Timestamp' in bindings", "No 'Duration' in bindings")
"""How its errors about names that it does not know begin."""


class Unsupported(Exception):
    """cel-python does not know the syntax, or a function, type or macro of the expression."""


class NoValue(Enum):
    """An evaluation that failed."""

    FAILED = "an error"


def judged(row: JSON) -> JSON | NoValue:
    """Give the tagged value of a row, or that it has none; raises Unsupported."""
    try:
        declared = {v["name"]: TYPES.get(str(v["type"]), celtypes.MapType) for v in row.get("type_env") or ()}
        with _recursion_limit_kept():
            env = celpy.Environment(package=row.get("container") or None, annotations=declared)
            program = env.program(env.compile(row["expr"]))
            value = program.evaluate({name: decode(tagged) for name, tagged in (row.get("vars") or {}).items()})
            return batch.encode(plain(value))
    except celpy.CELParseError as error:
        raise Unsupported(str(error)) from None
    except CELEvalError as error:
        if str(error.args[0]).startswith(LACKING):
            raise Unsupported(error.args[0]) from None
        return NoValue.FAILED
    except ValueError as error:
        if "too many values to unpack" in str(error):
            raise Unsupported("a macro of two variables") from None
        return NoValue.FAILED


@contextmanager
def _recursion_limit_kept() -> Iterator[None]:
    """An Environment of cel-python raises the limit of the whole process."""
    before = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def decode(tagged: JSON) -> Any:
    """The value of a tagged one, as cel-python has it."""
    value = tagged.get("v")
    match tagged["t"]:
        case "null":
            return None
        case "bytes":
            return celtypes.BytesType(base64.b64decode(str(value)))
        case "list":
            return celtypes.ListType([decode(v) for v in value or ()])
        case "map":
            return celtypes.MapType({decode(k): decode(v) for k, v in value or ()})
        case "duration":
            seconds, nanos = divmod(int(str(value)), 10**9)
            return celtypes.DurationType(seconds, nanos)
        case "timestamp":
            return celtypes.TimestampType(str(value))
        case "type":
            return TYPES[str(value)]
        case name:
            return TYPES[name](value)


def plain(value: Any) -> object:
    """A value of cel-python as Sluice has it."""
    match value:
        case celtypes.BoolType():
            return bool(value)
        case celtypes.UintType():
            return Uint(value)
        case list():
            return [plain(v) for v in value]
        case dict():
            return {plain(k): plain(v) for k, v in value.items()}
        case datetime.datetime():
            return parse_timestamp(value.astimezone(datetime.UTC).isoformat())
        case datetime.timedelta():
            return Duration(value // datetime.timedelta(microseconds=1) * 1000)
        case type():
            return TypeValue(NAMES[value])
        case _:
            return next((kind(value) for kind in (int, float, str, bytes) if isinstance(value, kind)), value)
