"""The straight way of an ApplyConfiguration into an object: names, schema and merge in one walk over what it writes.

It gives up (`Detour`) at whatever is not quite ordinary; `webhook.kube.merge` then decides, so that where this does
give a result, it is that one's. What it costs depends on the fragment, not on the object.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.cel.values import ObjectValue
from webhook.kube.schema import NUMERIC, MapShape, Ref, Schema

_TYPES: Final = {"string": frozenset({str}), "boolean": frozenset({bool}), "untyped": frozenset({str, bool, int})}
_NONE: Final[frozenset[type]] = frozenset()
_ROOT: Final = "Object"
_GIVEN: Final = ("apiVersion", "kind")


class Detour(Exception):
    """The fragment is not ordinary enough for this way."""


class _Absent:
    __slots__ = ()


_ABSENT: Final = _Absent()


class Course:
    """What may stand at one place of a kind, and what its type is called there; places below are made when needed."""

    __slots__ = ("_schema", "below", "element", "key", "map", "path", "scalars")

    def __init__(self, schema: Schema, ref: Ref, path: str) -> None:
        shape = schema.resolve(ref)
        self._schema, self.path = schema, path
        self.scalars = frozenset({int}) if shape.scalar in NUMERIC else _TYPES.get(shape.scalar, _NONE)
        self.map: MapShape | None = shape.map if shape.map is not None and not shape.map.atomic else None
        keyed = shape.list is not None and len(shape.list.keys) == 1
        self.key = shape.list.keys[0] if shape.list is not None and keyed else ""
        self.element = Course(schema, shape.list.element, path) if shape.list is not None and keyed else None
        self.below: dict[str, Course] = {}

    def step(self, name: str) -> Course:
        """Give the place of a field. Raises Detour where there is none."""
        found = self.below.get(name)
        if found is None:
            if self.map is None:
                raise Detour
            ref = self.map.fields.get(name, self.map.others)
            if ref is None:
                raise Detour
            found = self.below[name] = Course(self._schema, ref, f"{self.path}.{name}")
        return found

    def values(self) -> frozenset[type]:
        """Give the types of scalars that the values of a plain map may have. Raises Detour where it is no such map."""
        if self.map is None or self.map.fields or self.map.others is None:
            raise Detour
        shape = self._schema.resolve(self.map.others)
        return _TYPES.get(shape.scalar, _NONE)


def course_of(schema: Schema) -> Course:
    """Give where the fragments of a kind start."""
    return Course(schema, schema.root, _ROOT)


def fused(course: Course, obj: dict[str, Any], value: ObjectValue) -> dict[str, Any]:
    """Give the object with a fragment merged in, or the same object where nothing changes. Raises Detour."""
    for name in _GIVEN:
        if name in value.fields or type(obj.get(name)) is not str or str not in course.step(name).scalars:
            raise Detour
    merged: dict[str, Any] = _fuse(course, obj, value)
    return merged


def _fuse(course: Course, left: Any, value: Any) -> Any:
    kind = type(value)
    if kind in course.scalars:
        return left if type(left) is kind and left == value else value
    if kind is ObjectValue:
        return _fuse_object(course, left, value)
    if kind is dict:
        return _fuse_plain(course, left, value)
    if kind is list:
        return _fuse_list(course, left, value)
    raise Detour


def _fuse_object(course: Course, left: Any, value: ObjectValue) -> Any:
    if value.type_name != course.path or course.map is None:
        raise Detour
    mine = merged = left if type(left) is dict else {}
    for name, inner in value.fields.items():
        old = mine.get(name, _ABSENT)
        new = _fuse(course.below.get(name) or course.step(name), old, inner)
        if new is not old:
            if merged is mine:
                merged = dict(mine)
            merged[name] = new
    # An empty map beside an empty map is a new one, as in the structured merge.
    return merged if merged is not mine or (mine and left is mine) else {}


def _fuse_plain(course: Course, left: Any, value: dict[Any, Any]) -> Any:
    mine = merged = left if type(left) is dict else {}
    types = course.values()
    for key, new in value.items():
        if type(key) is not str or type(new) not in types:
            raise Detour
        old = mine.get(key, _ABSENT)
        if type(old) is not type(new) or old != new:
            if merged is mine:
                merged = dict(mine)
            merged[key] = new
    return merged if merged is not mine or (mine and left is mine) else {}


def _fuse_list(course: Course, left: Any, value: list[Any]) -> Any:
    """Merge items into those of the same key; only where all are there, in the same order, and none is twice."""
    key, element = course.key, course.element
    if element is None or type(left) is not list or not value:
        raise Detour
    places = {}
    for at, item in enumerate(left):
        name = item.get(key) if type(item) is dict else None
        if type(name) is not str:
            raise Detour
        places[name] = at
    if len(places) != len(left):
        raise Detour
    woven, last = left, -1
    for item in value:
        name = item.fields.get(key) if type(item) is ObjectValue else None
        at = places.get(name, -1) if type(name) is str else -1
        if at <= last:
            raise Detour
        last = at
        new = _fuse_object(element, left[at], item)
        if new is not left[at]:
            if woven is left:
                woven = list(left)
            woven[at] = new
    return woven
