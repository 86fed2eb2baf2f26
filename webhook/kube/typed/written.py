"""Type check of what a mutation wrote into an object.

Only parts not shared with the object before the mutation are looked at. Error texts: encoding/json, and the converter
of unstructured objects in k8s.io/apimachinery.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.kube.absent import ABSENT
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.quantity import WRONG_FORMAT, QuantityError, parse
from webhook.kube.schema import NUMERIC, Ref, Schema, Shape
from webhook.kube.typed.codec import is_empty
from webhook.kube.typed.constants import DEFAULTS
from webhook.kube.typed.go_fields import STRUCTS, FieldForm, fields_of
from webhook.kube.typed.steady import is_rewritten, keeps_empty, looked_at

_INT64: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "deletionGracePeriodSeconds",
        "expirationSeconds",
        "fsGroup",
        "generation",
        "observedGeneration",
        "runAsGroup",
        "runAsUser",
        "startingDeadlineSeconds",
        "supplementalGroups",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
    }
)
"""Integer fields of 64 bits; all others have 32. The schemas have no widths."""
_QUANTITY: Final = "q"


class FieldTypeError(Exception):
    """A value does not fit its field's type."""


class UnknownFields(FieldTypeError):
    """A mutation wrote fields that the type of the kind does not have."""


class Written:
    """Walks through the new parts of an object.

    `unknown` are fields that the type does not have; `steady` says whether the conversion can be skipped.
    """

    __slots__ = ("_gvk", "_looked_at", "_schema", "_strict", "steady", "unknown")

    def __init__(self, schema: Schema, gvk: GroupVersionKind, strict: bool) -> None:
        self._schema, self._gvk, self._strict = schema, gvk, strict
        self._looked_at: set[str] = set()
        self.unknown: list[str] = []
        self.steady = True

    def value(self, ref: Ref, before: Any, after: Any, place: str = "", owner: str = "", path: str = "") -> None:
        """Check a value at a path (with map keys and list indexes) in a struct's field.

        `place` has the field names only. Raises ConversionError for a value of the wrong type.
        """
        if after is before:
            return
        if after is None or place in self._looked_at:
            self.steady = False
        if after is None:
            return
        shape = self._schema.resolve(ref)
        if fields_of(ref.name) is not None:
            if not isinstance(after, dict):
                raise self._mismatch(ref, after, place, owner)
            self._struct(ref, shape, before, after, place, path)
        elif shape.list is not None and not shape.scalar:
            if not isinstance(after, list):
                raise self._mismatch(ref, after, place, owner)
            self._list(shape.list.element, before, after, place, owner, path)
        elif shape.map is not None and shape.map.others is not None and not shape.scalar:
            if not isinstance(after, dict):
                raise self._mismatch(ref, after, place, owner)
            old = before if isinstance(before, dict) else {}
            for key, inner in after.items():
                self.value(shape.map.others, old.get(key, ABSENT), inner, place, owner, f"{path}.{key}")
        else:
            self._scalar(ref, shape, after, place, owner)

    def _struct(self, ref: Ref, shape: Shape, before: Any, after: Any, place: str, path: str) -> None:
        old, written = before if isinstance(before, dict) else {}, fields_of(ref.name) or {}
        refs = shape.map.fields if shape.map is not None else {}
        if self.steady:
            self._looked_at.update(looked_at(ref.name, place))
            self.steady = (
                place not in self._looked_at
                and not any(key not in after for key in old)
                and (bool(old) or _whole(ref, shape, after))
            )
        name = ref.name.rpartition(".")[2]
        # After a JSON patch, fields are in alphabetical order.
        for field in sorted(after) if isinstance(before, dict) else after:
            inner, was = after[field], old.get(field, ABSENT)
            if inner is was:
                continue
            here, there = (f"{path}.{field}", f"{place}.{field}") if path else (field, field)
            if field in refs:
                if is_empty(inner) and not keeps_empty(ref.name, shape, field):
                    self.steady = False
                self.value(refs[field], was, inner, there, name, here)
            elif field not in written and field not in old:
                self.unknown.append(here)
                self.steady = False

    def _list(self, element: Ref, before: Any, after: list[Any], place: str, owner: str, path: str) -> None:
        old = before if isinstance(before, list) else []
        known = {id(item) for item in old}
        for at, item in enumerate(after):
            if id(item) not in known:
                self.value(element, old[at] if at < len(old) else ABSENT, item, place, owner, f"{path}[{at}]")

    def _scalar(self, ref: Ref, shape: Shape, value: Any, place: str, owner: str) -> None:
        kind = type(value)
        fits = True
        if shape.code == _QUANTITY:
            self._quantity(value)
        elif is_rewritten(shape.code):
            self.steady = False
        elif shape.scalar == "string":
            fits = kind is str
        elif shape.scalar == "boolean":
            fits = kind is bool
        elif shape.scalar in NUMERIC:
            fits = kind is int or (kind is float and (shape.scalar == "number" or value.is_integer()))
        if not fits:
            raise self._mismatch(ref, value, place, owner)

    def _quantity(self, value: Any) -> None:
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise QuantityError
            if parse(value).canonical() != value:
                self.steady = False
        except QuantityError:
            raise FieldTypeError(self._converting(WRONG_FORMAT)) from None

    def _mismatch(self, ref: Ref, value: Any, place: str, owner: str) -> FieldTypeError:
        wanted = _go_type(self._schema, ref, place)
        if not self._strict:
            return FieldTypeError(self._converting(f"cannot convert {_go_kind(value)} to {wanted}"))
        found = {str: "string", bool: "bool", dict: "object", list: "array", float: f"number {value}"}
        kind = found.get(type(value), "number")
        return FieldTypeError(f"json: cannot unmarshal {kind} into Go struct field {owner}.{place} of type {wanted}")

    def _converting(self, why: str) -> str:
        if self._strict:
            return why
        kind = f"{self._gvk.group}/{self._gvk.version}, Kind={self._gvk.kind}"
        return f"unable to convert unstructured object to {kind}: {why}"


def _whole(ref: Ref, shape: Shape, value: dict[str, Any]) -> bool:
    """Return whether a new struct has all the fields that defaulting would add."""
    defaults = {**(shape.map.defaults if shape.map is not None else {}), **DEFAULTS.get(ref.name, {})}
    always = (FieldForm.ALWAYS, FieldForm.NULL_IF_NIL, *STRUCTS)
    missing = any(when in always and field not in value for field, when in (fields_of(ref.name) or {}).items())
    return bool(value) and not missing and not any(is_empty(value.get(field)) for field in defaults)


def _go_type(schema: Schema, ref: Ref, place: str) -> str:
    """Return the name of a type as Go prints it; named string types are called string."""
    shape = schema.resolve(ref)
    if shape.scalar in NUMERIC:
        return "int64" if place.rpartition(".")[2] in _INT64 else "int32"
    if shape.scalar:
        return {"boolean": "bool"}.get(shape.scalar, "string")
    if ref.name and fields_of(ref.name) is not None:
        return ".".join(ref.name.split(".")[-2:])
    if shape.list is not None:
        return f"[]{_go_type(schema, shape.list.element, place)}"
    others = shape.map.others if shape.map is not None else None
    return f"map[string]{_go_type(schema, others, place)}" if others is not None else "map[string]string"


def _go_kind(value: Any) -> str:
    kinds = {str: "string", bool: "bool", float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}
    return kinds.get(type(value), "int64")
