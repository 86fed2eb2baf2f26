"""ApplyConfiguration: from the fragment that a mutation's expression gives to the changed object.

The fast way is names, schema and merge in one walk over what the fragment writes: what it costs depends on the
fragment, not on the object. It gives up (`NotApplicable`) at whatever is not quite ordinary; `webhook.kube.merge` then
decides, so that where this does give a result, it is that one's. For a kind whose objects are converted after each
mutation it also gives up where that would change anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from webhook.cel.values import ObjectValue
from webhook.kube.absent import ABSENT
from webhook.kube.equality import same
from webhook.kube.gvk import gvk_of
from webhook.kube.merge import MergeError, apply_configuration
from webhook.kube.schema import NUMERIC, MapShape, Ref, Schema
from webhook.kube.schemas import is_built_in, schema_of
from webhook.kube.typed.conversion import FieldTypeError, converted
from webhook.kube.typed.steady import is_inert, is_rewritten, keeps_empty, looked_at
from webhook.policy.patching.native_values import Given, MutationError, NotNative, check_names, native

_TYPES: Final = {"string": frozenset({str}), "boolean": frozenset({bool}), "untyped": frozenset({str, bool, int})}
_NONE: Final[frozenset[type]] = frozenset()
_ROOT: Final = "Object"
_GIVEN: Final = ("apiVersion", "kind")
_SMALLEST: Final = -(2**31)
_LARGEST: Final = 2**31 - 1


class NotApplicable(Exception):
    """The fragment is not ordinary enough for the fast way."""


class FieldSchema:
    """What may stand at one place of a kind, and what its type is called there; places below are made when needed.

    `values` are the types of scalars that the values of a plain map may have, None where the place is no such map.
    `converted` are the paths below which a conversion may change something; None where there is none. `empties` and
    `fresh` say whether an empty scalar, and a map or object where none was, stay as they are written.
    """

    __slots__ = (
        "_schema",
        "below",
        "converted",
        "element",
        "empties",
        "fresh",
        "key",
        "map",
        "name",
        "path",
        "scalars",
        "shape",
        "values",
    )

    def __init__(
        self, schema: Schema, ref: Ref, path: str, converted: tuple[str, ...] | None = None, empties: bool = True
    ) -> None:
        shape = schema.resolve(ref)
        self._schema, self.path, self.name, self.shape, self.empties = schema, path, ref.name, shape, empties
        self.scalars = frozenset({int}) if shape.scalar in NUMERIC else _TYPES.get(shape.scalar, _NONE)
        self.map: MapShape | None = shape.map if shape.map is not None and not shape.map.atomic else None
        keyed = shape.list is not None and len(shape.list.keys) == 1
        self.key = shape.list.keys[0] if shape.list is not None and keyed else ""
        plain = self.map is not None and not self.map.fields and self.map.others is not None
        others = schema.resolve(self.map.others) if plain and self.map and self.map.others is not None else None
        self.values = None if others is None else _TYPES.get(others.scalar, _NONE)
        self.fresh, self.converted = True, converted
        if converted is not None:
            self.converted = converted = (*converted, *looked_at(ref.name, path))
            self.fresh = is_inert(schema, ref)
            seen = any(path == place or path.startswith(f"{place}.") for place in converted)
            if seen or is_rewritten(shape.code):
                self.scalars = _NONE
            if seen or (others is not None and (is_rewritten(others.code) or others.scalar != "string")):
                self.values = None
        self.element = FieldSchema(schema, shape.list.element, path, converted) if shape.list and keyed else None
        self.below: dict[str, FieldSchema] = {}

    def step(self, name: str) -> FieldSchema:
        """Return the place of a field. Raises NotApplicable where there is none."""
        found = self.below.get(name)
        if found is None:
            if self.map is None:
                raise NotApplicable
            ref = self.map.fields.get(name, self.map.others)
            if ref is None:
                raise NotApplicable
            empties = self.converted is None or keeps_empty(self.name, self.shape, name)
            found = FieldSchema(self._schema, ref, f"{self.path}.{name}", self.converted, empties)
            self.below[name] = found
        return found


def merged(obj: dict[str, Any], value: Any, given: Iterable[Any] = (), *, whole: bool = True) -> dict[str, Any]:
    """Return the object with a fragment merged in, or the same object where it changes nothing. Raises MutationError.

    `given` is what the expression was given: lists and maps in it are JSON, others are values of the language. A
    `whole` object is converted to the Go type of its kind and back, as the API server does after each mutation; a
    template that stands in as a Pod is not: an empty list leaves no null there, as the Pod would have none.
    """
    if not isinstance(value, ObjectValue):
        raise MutationError(f"unsupported return type from ApplyConfiguration expression: {type(value).__name__}")
    if not value.fields:
        return obj
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if type(api_version) is str and type(kind) is str and (schema := _field_schema(api_version, kind, whole)):
        try:
            return fast_merged(schema, obj, value)
        except NotApplicable:
            pass
    check_names(value)
    try:
        made: dict[str, Any] = apply_configuration(
            obj, fragment_of(value, Given(given)), schema_of(gvk_of(obj)), nil=None if whole else ABSENT
        )
    except MergeError as error:
        raise MutationError(f"error applying patch: {error}") from None
    try:
        result = converted(obj, made, strict=False) if whole else made
    except FieldTypeError as error:
        raise MutationError(str(error)) from None
    return obj if same(obj, result) else result


def fragment_of(value: ObjectValue, given: Given) -> dict[str, Any]:
    """Return what an ApplyConfiguration merges in. Raises MutationError if a map has keys that are not strings."""
    try:
        return native(value, given)
    except NotNative:
        raise MutationError("invalid return type: *dynamic.ObjectVal") from None


@lru_cache(maxsize=1024)
def _field_schema(api_version: str, kind: str, whole: bool) -> FieldSchema | None:
    """Return where fragments of a kind start, None if there is no fast form."""
    gvk = gvk_of({"apiVersion": api_version, "kind": kind})
    return field_schema(schema_of(gvk), converted=whole and is_built_in(gvk))


def field_schema(schema: Schema, *, converted: bool = False) -> FieldSchema | None:
    """Return where the fragments of a kind start; None where its apiVersion and kind are no texts.

    `converted`: an object of the kind is converted after each mutation.
    """
    root = FieldSchema(schema, schema.root, _ROOT, () if converted else None)
    try:
        return root if all(str in root.step(name).scalars for name in _GIVEN) else None
    except NotApplicable:
        return None


def fast_merged(schema: FieldSchema, obj: dict[str, Any], value: ObjectValue) -> dict[str, Any]:
    """Return the object, whose apiVersion and kind are strings, with a fragment merged in; itself if nothing changes.

    Raises NotApplicable.
    """
    fields = value.fields
    if "apiVersion" in fields or "kind" in fields:
        raise NotApplicable
    result: dict[str, Any] = _merge_object(schema, obj, value)
    return result


def _merge_object(schema: FieldSchema, left: Any, value: ObjectValue) -> Any:
    if value.type_name != schema.path or schema.map is None:
        raise NotApplicable
    if type(left) is dict:
        mine = left
    elif schema.fresh:
        mine = {}
    else:
        raise NotApplicable
    merged, below = mine, schema.below
    inner: Any
    for name, inner in value.fields.items():
        place = below.get(name) or schema.step(name)
        old = mine.get(name, ABSENT)
        kind = type(inner)
        if kind is ObjectValue:
            new = _merge_object(place, old, inner)
        elif kind is dict:
            new = _merge_plain(place, old, inner)
        elif kind is list:
            new = _merge_list(place, old, inner)
        elif kind in place.scalars and (inner or place.empties):
            if kind is int and (type(old) is float or not _SMALLEST <= inner <= _LARGEST):
                raise NotApplicable
            new = old if type(old) is kind and old == inner else inner
        else:
            raise NotApplicable
        if new is not old:
            if merged is mine:
                merged = dict(mine)
            merged[name] = new
    return merged or _empty(schema, left)


def _empty(schema: FieldSchema, left: Any) -> Any:
    """Return what an empty map makes where no map is; beside one that is empty, too, it is not ordinary."""
    if schema.converted is not None or type(left) is dict:
        raise NotApplicable
    return {}


def _merge_plain(schema: FieldSchema, left: Any, value: dict[Any, Any]) -> Any:
    mine = merged = left if type(left) is dict else {}
    types = schema.values
    if types is None:
        raise NotApplicable
    for key, new in value.items():
        kind = type(new)
        old = mine.get(key, ABSENT)
        if type(key) is not str or kind not in types or (kind is int and type(old) is float):
            raise NotApplicable
        if type(old) is not kind or old != new:
            if merged is mine:
                merged = dict(mine)
            merged[key] = new
    return merged or _empty(schema, left)


def _merge_list(schema: FieldSchema, left: Any, value: list[Any]) -> Any:
    """Merge items into those of the same key; only where all are there, in the same order, and none is twice."""
    key, element = schema.key, schema.element
    if element is None or type(left) is not list or not value:
        raise NotApplicable
    places = {}
    for at, item in enumerate(left):
        name = item.get(key) if type(item) is dict else None
        if type(name) is not str:
            raise NotApplicable
        places[name] = at
    if len(places) != len(left):
        raise NotApplicable
    merged, last = left, -1
    for item in value:
        name = item.fields.get(key) if type(item) is ObjectValue else None
        at = places.get(name, -1) if type(name) is str else -1
        if at <= last:
            raise NotApplicable
        last = at
        new = _merge_object(element, left[at], item)
        if new is not left[at]:
            if merged is left:
                merged = list(left)
            merged[at] = new
    return merged
