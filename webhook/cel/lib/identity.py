"""Equality of the objects and JSON patches that a mutation makes, which differs from that of other values.

The API server compares the fields of two objects by Go's reflect.DeepEqual: an int never equals a double, NaN does not
equal NaN, and lists are equal only if they are the same list in memory, which two list literals never are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.cel.values import ABSENT, JSONPatchValue, ObjectValue, Optional, Timestamp


def equal_objects(a: ObjectValue, b: ObjectValue) -> bool:
    """Whether two objects are one: of the same type name, their fields of the same types and contents."""
    return a is b or (a.type_name == b.type_name and _identical_maps(a.fields, b.fields))


def equal_patches(a: JSONPatchValue, b: JSONPatchValue, equal: Callable[[object, object], bool]) -> bool:
    """Whether two operations are one; their values are compared by `equal`, as any others."""
    if (a.op, a.from_, a.path) != (b.op, b.from_, b.path) or (a.value is ABSENT) != (b.value is ABSENT):
        return False
    return a.value is ABSENT or equal(a.value, b.value)


def _identical(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    compare = _IDENTICAL.get(type(a))
    if compare is not None:
        return compare(a, b)
    quantity = getattr(a, "quantity", None)
    if quantity is not None:
        return bool(repr(quantity) == repr(b.quantity))
    return not callable(getattr(a, "check", None)) and bool(a == b)


def _identical_maps(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return a is b or (a.keys() == b.keys() and all(_identical(value, b[key]) for key, value in a.items()))


def _identical_patches(a: JSONPatchValue, b: JSONPatchValue) -> bool:
    return equal_patches(a, b, _identical)


def _identical_optionals(a: Optional, b: Optional) -> bool:
    return a.present == b.present and (not a.present or _identical(a.value, b.value))


_IDENTICAL: Final[dict[type, Callable[[Any, Any], bool]]] = {
    list: lambda _, __: False,
    dict: _identical_maps,
    ObjectValue: equal_objects,
    JSONPatchValue: _identical_patches,
    Optional: _identical_optionals,
    Timestamp: lambda a, b: bool(a == b and a.zone == b.zone),
}
