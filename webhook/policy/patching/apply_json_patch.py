"""JSONPatch: from the operations that a mutation's expression gives to the changed object."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from webhook.cel.keys import bare
from webhook.cel.lib import conversions
from webhook.cel.values import ABSENT, Duration, JSONPatchValue, ObjectValue, Optional, Timestamp
from webhook.kube import json_patch
from webhook.kube.equality import same
from webhook.kube.merge import Foreign
from webhook.kube.typed.conversion import FieldTypeError, UnknownFields, converted
from webhook.policy.patching.native_values import PLAIN, Given, MutationError, NotNative, check_names, native

_SAFE_INTEGER: Final = 2**53 - 1
_INT64: Final = 2.0**63


class InternalError(MutationError):
    """A JSON patch made of the object what its type cannot hold: the API server fails, whatever the failurePolicy."""


def patched(obj: dict[str, Any], value: Any, given: Iterable[Any] = (), *, whole: bool = True) -> dict[str, Any]:
    """Return the object with the operations done, or the same object where they change nothing. Raises MutationError.

    Where a `test` does not hold the object stays as it was. `given` and `whole` are as in `apply_configuration.merged`.
    """
    if not isinstance(value, list):
        raise MutationError("type mismatch: JSONPatchType.expression should evaluate to array")
    if not value:
        return obj
    seen = Given(given)
    try:
        result = json_patch.apply(obj, [operation(step, seen) for step in value])
    except json_patch.TestFailed:
        return obj
    except json_patch.PatchError as error:
        raise MutationError(f"JSON Patch: {error}") from None
    if not isinstance(result, dict):
        raise MutationError("JSON Patch: the result is not an object")
    try:
        result = converted(obj, result, strict=True) if whole else result
    except UnknownFields as error:
        raise InternalError(f"Internal error occurred: strict decoding error: {error}") from None
    except FieldTypeError as error:
        raise InternalError(f"Internal error occurred: {error}") from None
    return obj if same(obj, result) else result


def operation(step: Any, given: Given) -> json_patch.Operation:
    """Return one operation of a JSON patch from the value that stands for it. Raises MutationError."""
    if not isinstance(step, JSONPatchValue):
        raise MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    if step.value is ABSENT:
        return json_patch.Operation(step.op, step.path, from_=step.from_)
    if isinstance(step.value, ObjectValue):
        check_names(step.value)
        return json_patch.Operation(step.op, step.path, struct(_native(step.value, given)), step.from_)
    return json_patch.Operation(step.op, step.path, plain(step.value), step.from_)


def _native(value: ObjectValue, given: Given) -> dict[str, Any]:
    try:
        return native(value, given, [])
    except NotNative as error:
        raise _refused(f"fail to convert field: {error}") from None


def plain(value: Any) -> Any:
    """Return a CEL value as JSON: whole numbers beyond 2**53 as strings, bytes in base64, times as texts.

    Raises MutationError for values that JSON has no form for, and for objects inside lists and maps, on which the API
    server crashes.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is dict:
        return _plain_map(value)
    if kind is list:
        return [item if type(item) in PLAIN else plain(item) for item in value]
    if isinstance(value, int):
        return int.__int__(value) if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else int.__repr__(value)
    if kind is float:
        return number(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    return _plain_special(value)


def struct(value: Any) -> Any:
    """Return the fields of an object as the JSON of a protobuf Struct: every number goes through a double.

    Raises MutationError for what is neither JSON nor a whole number without sign nor bytes.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is dict:
        return {key: struct(item) for key, item in value.items()}
    if kind is list:
        return [struct(item) for item in value]
    if isinstance(value, Foreign) and isinstance(value.value, bytes):
        return base64.b64encode(value.value).decode()
    held = value.value if isinstance(value, Foreign) else value
    if isinstance(held, (int, float)):
        return number(float(held))
    raise _refused(f"proto: invalid type: {value}")


def number(value: float) -> int | float:
    """Return a double as it is after a round trip through JSON: whole ones below 2**63 as int, the shortest digits.

    Raises MutationError for those that JSON has not.
    """
    if not math.isfinite(value):
        raise _refused(f"google.protobuf.Value.number_value: invalid {value} value")
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < _INT64 else value


def _refused(why: str) -> MutationError:
    return MutationError(f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}")


def _plain_map(value: dict[Any, Any]) -> dict[str, Any]:
    return {
        key if type(key) is str else _text_key(key): item if type(item) in PLAIN else plain(item)
        for key, item in value.items()
    }


def _text_key(key: Any) -> str:
    """Return a key that is no plain text; an optional one counts as what it holds."""
    key = bare(key)
    found = key.value if isinstance(key, Optional) and key.present else key
    if not isinstance(found, str):
        raise _refused(f'map key "{found}" is of type {type(found).__name__}, not string')
    return found


def _plain_special(value: Any) -> Any:
    if isinstance(value, Optional):
        if not value.present:
            raise _refused("optional.none() dereference")
        return plain(value.value)
    if isinstance(value, (Duration, Timestamp)):
        return conversions.to_string(value)
    raise _refused(type(value).__name__)
