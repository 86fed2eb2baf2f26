"""Decodes JSON into the fields that a Go struct of its kind holds, and encodes them again.

Decoding prunes unknown fields, treats null as unset, and adds structs that are not pointers. Encoding leaves out what
Go leaves out. A value of the wrong type is kept: an API server rejects it. Rules: encoding/json, and
k8s.io/apimachinery's resource.Quantity.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.kube.quantity import QuantityError, parse
from webhook.kube.schema import MapShape, Ref, Schema, Shape
from webhook.kube.typed.go_fields import STRUCTS, VALUES, FieldForm, fields_of

Struct = dict[str, Any]
_ZEROES: Final = {"s": "", "i": 0, "n": 0, "b": False, "q": "0", "x": 0, "y": None}
_QUANTITY: Final = "q"


def read(schema: Schema, ref: Ref, value: Any) -> Any:
    """Decode a value by its type; null becomes the type's zero value."""
    shape = schema.resolve(ref)
    if fields_of(ref.name) is not None and (value is None or isinstance(value, dict)):
        return _read_struct(schema, ref.name, shape, value or {})
    if value is None:
        return _zero(shape)
    if isinstance(value, list) and shape.list is not None:
        return [read(schema, shape.list.element, item) for item in value]
    if isinstance(value, dict) and shape.map is not None and shape.map.others is not None:
        return _read_map(schema, shape.map, value)
    return _quantity(value) if shape.code == _QUANTITY else value


def _read_struct(schema: Schema, name: str, shape: Shape, value: Struct) -> Struct:
    """Return the fields that are set, in the order of the file, then the structs that are always present."""
    refs, held = shape.map.fields if shape.map else {}, {}
    written = fields_of(name) or {}
    for field, inner in value.items():
        if field in written and inner is not None:
            held[field] = read(schema, refs[field], inner) if field in refs else inner
    for field, when in written.items():
        if when in STRUCTS and field not in held and field in refs and fields_of(refs[field].name) is not None:
            held[field] = read(schema, refs[field], {})
    return held


def _read_map(schema: Schema, shape: MapShape, value: Struct) -> Struct:
    others = shape.others
    assert others is not None
    if others.name in ("*", "~"):
        return value
    return {key: read(schema, others, item) for key, item in value.items()}


def _zero(shape: Shape) -> Any:
    return _ZEROES.get(shape.code)


def _quantity(value: Any) -> Any:
    """Write a quantity as Kubernetes does: `0.5` as `500m`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return parse(value.strip() if isinstance(value, str) else value).canonical()
    except QuantityError:
        return value


def write(schema: Schema, ref: Ref, value: Any) -> Any:
    """Encode a value that was decoded by `read`."""
    written = fields_of(ref.name)
    shape = schema.resolve(ref)
    if written is not None and isinstance(value, dict):
        return _write_struct(schema, shape, written, value)
    if isinstance(value, list) and shape.list is not None:
        return [write(schema, shape.list.element, item) for item in value]
    if isinstance(value, dict) and shape.map is not None and shape.map.others is not None:
        others = shape.map.others
        return value if others.name in ("*", "~") else {k: write(schema, others, v) for k, v in value.items()}
    return value


def _write_struct(schema: Schema, shape: Shape, written: Any, value: Struct) -> Struct:
    refs, made = shape.map.fields if shape.map else {}, {}
    for field, inner in value.items():
        when = written.get(field)
        if when == FieldForm.UNLESS_EMPTY and is_empty(inner):
            continue
        if when == FieldForm.STRUCT_UNLESS_ZERO and is_zero(schema, refs.get(field), inner):
            continue
        made[field] = write(schema, refs[field], inner) if field in refs else inner
    for field, when in written.items():
        if field not in value and when in (FieldForm.ALWAYS, FieldForm.NULL_IF_NIL, FieldForm.STRUCT):
            made[field] = (
                _zero(schema.resolve(refs[field])) if when != FieldForm.NULL_IF_NIL and field in refs else None
            )
    return made


def is_empty(value: Any) -> bool:
    """Whether Go's omitempty leaves a value out."""
    return value is None or value is False or value in ("", 0) or value in ([], {})


def is_zero(schema: Schema, ref: Ref | None, value: Any) -> bool:
    """Whether a struct has its zero value; an empty list or map in it counts as set."""
    if ref is None or not isinstance(value, dict):
        return value is None
    written, shape = fields_of(ref.name) or {}, schema.resolve(ref)
    refs = shape.map.fields if shape.map else {}
    for field, inner in value.items():
        when = written.get(field)
        if when in STRUCTS:
            if not is_zero(schema, refs.get(field), inner):
                return False
        elif when not in VALUES or isinstance(inner, list | dict) or not is_empty(inner):
            return False
    return True
