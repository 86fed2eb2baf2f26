"""Structured merge of an ApplyConfiguration into an object, as the API server does it for mutating policies.

Maps merge by field, lists by their keys or as sets if the schema says so; atomic values must not be mutated. Rules:
sigs.k8s.io/structured-merge-diff and k8s.io/apiserver's smd patcher. Field ownership is not tracked.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from webhook.kube.absent import ABSENT
from webhook.kube.schema import UNTYPED, ListShape, MapShape, Ref, Schema, Shape


class MergeError(Exception):
    """A fragment cannot be merged; the text is the API server's after `error applying patch: `."""


class Foreign:
    """A value in a fragment that is not a JSON scalar, list or map: no schema accepts it."""

    __slots__ = ("text", "value")

    def __init__(self, text: str, value: object = None) -> None:
        """Keep how the value prints and, where a JSON patch takes it, the value."""
        self.text, self.value = text, value

    def __str__(self) -> str:
        return self.text


NIL: Final = Foreign("[]")
"""An empty list written by an expression: Go's nil slice. Checked as a list; null where it is taken over as written."""


_NULL: Final = "NULL_VALUE"


Problems = list[tuple[str, str]]


def apply_configuration(
    obj: dict[str, Any], fragment: dict[str, Any], schema: Schema = UNTYPED, *, nil: object = None
) -> dict[str, Any]:
    """Return the object with the fragment merged in; parts that the fragment does not name are shared with the object.

    If nothing changes, the object itself is returned. `nil` is what an empty list of an expression leaves where no item
    is: null, or `ABSENT` for what stands in for a Go type, which has no nulls.

    Raises MergeError if the fragment does not fit the schema, or contains an atomic list, map or struct. The fragment
    gets the object's apiVersion and kind. The object is not checked against the schema: an API server newer than our
    data may have accepted new fields.
    """
    fragment = fragment | {key: obj[key] for key in ("apiVersion", "kind") if key in obj}
    check_fragment(fragment, schema)
    problems: Problems = []
    merged = _Merger(schema, problems, nil).merge(schema.root, obj, fragment, "")
    _raise("failed to merge patch", problems)
    return merged if isinstance(merged, dict) else {}


def check_fragment(fragment: dict[str, Any], schema: Schema) -> None:
    """Raise MergeError if a fragment does not fit the schema, or contains an atomic value."""
    _raise("failed to convert patch object to typed object", _validate(schema, schema.root, fragment, ""))
    if atomic := list(_atomics(schema, schema.root, fragment, "")):
        raise MergeError(
            f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        )


def _raise(context: str, problems: Problems) -> None:
    if problems:
        lines = [f"{path}: {message}" if path else message for path, message in problems]
        text = lines[0] if len(lines) == 1 else "\n".join(["errors:", *(f"  {line}" for line in lines)])
        raise MergeError(f"{context}: {text}")


def _chosen(shape: Shape, value: Any) -> str:
    """Return the form of a shape that applies to a value: map, scalar or list."""
    if isinstance(value, dict) and shape.map is not None:
        return "map"
    if isinstance(value, list) and shape.list is not None:
        return "list"
    if isinstance(value, (str, int, float)) and shape.scalar:
        return "scalar"
    return "map" if shape.map is not None else "scalar" if shape.scalar else "list"


def _validate(schema: Schema, ref: Ref, value: Any, path: str) -> Problems:
    shape = schema.resolve(ref)
    chosen = _chosen(shape, value)
    if value is None or (value is NIL and shape.list is not None):
        return []
    if chosen == "scalar":
        message = _scalar_problem(shape.scalar, value)
        return [(path, message)] if message else []
    if chosen == "map":
        return _validate_map(schema, shape.map, value, path)
    return _validate_list(schema, shape.list, value, path)


def _shown(value: Any) -> str:
    return f"&{{{value}}}" if isinstance(value, Foreign) else json.dumps(value, default=str)


def _printed(value: Any) -> str:
    """Print a value of a fragment as Go's %v prints that of the API server's library."""
    return f"&{{{_go(value)}}}"


def _go(value: Any) -> str:
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _go_syntax(value: Any) -> str:
    """Print a value as Go's %#v does."""
    if isinstance(value, dict):
        items = ", ".join(f"{json.dumps(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, Foreign):
        return "0" if value.text == _NULL else value.text
    return "interface {}(nil)" if value is None else json.dumps(value)


def _kind(value: Any) -> str:
    """Return the type's name as the API server's library prints it."""
    if isinstance(value, Foreign) and value.text == _NULL:
        return "structpb.NullValue"
    names = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), type(value).__name__)


def _scalar_problem(scalar: str, value: Any) -> str:
    if value is None:
        return ""
    plain = isinstance(value, (str, bool, int, float))
    if scalar in ("integer", "number"):
        fits, wanted = isinstance(value, (int, float)) and not isinstance(value, bool), "numeric (int or float)"
    elif scalar == "string":
        fits, wanted = isinstance(value, str), "string"
    elif scalar == "boolean":
        fits, wanted = isinstance(value, bool), "boolean"
    else:
        fits, wanted = plain, "any scalar"
    if fits:
        return ""
    if scalar == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return f"expected {wanted}, got {_kind(value) if wanted.startswith('numeric') else _printed(value)}"


def _validate_map(schema: Schema, shape: MapShape | None, value: Any, path: str) -> Problems:
    if shape is None or not isinstance(value, dict):
        return [(path, f"expected map, got {_printed(value)}")]
    problems: Problems = []
    for key, inner in value.items():
        ref = shape.fields.get(key, shape.others)
        if ref is None:
            return [*problems, (f"{path}.{key}", "field not declared in schema")]
        problems += _validate(schema, ref, inner, f"{path}.{key}")
    return problems


def _validate_list(schema: Schema, shape: ListShape | None, value: Any, path: str) -> Problems:
    if shape is None or not isinstance(value, list):
        return [(path, f"expected list, got {_printed(value)}")]
    problems: Problems = []
    seen: set[Hashable] = set()
    for index, item in enumerate(value):
        step = f"[{index}]"
        if not shape.atomic:
            try:
                identity = _identity(schema, shape, item)
            except MergeError as error:
                return [*problems, (path, f"element {index}: {error}")]
            step = _step(shape, identity)
            if identity in seen:
                problems.append((path, f"duplicate entries for key {step}"))
            seen.add(identity)
        problems += _validate(schema, shape.element, item, path + step)
    return problems


def _step(shape: ListShape, identity: Hashable) -> str:
    if not shape.keys:
        return f"[={_shown(identity[-1]) if isinstance(identity, tuple) else identity}]"
    assert isinstance(identity, tuple)
    return f"[{','.join(f'{name}={_shown(value[-1])}' for name, value in identity)}]"


def _identity(schema: Schema, shape: ListShape, item: Any) -> Hashable:
    """What makes an item of a list the same item: its keys with their defaults, or the item itself."""
    if not shape.keys:
        if item is None or isinstance(item, (dict, list)):
            raise MergeError("associative list without keys has an element that is no scalar")
        return _typed(item)
    if not isinstance(item, dict):
        kind = "a null element" if item is None else "non-map elements"
        raise MergeError(f"associative list with keys may not have {kind}")
    element = schema.resolve(shape.element).map
    defaults = element.defaults if element is not None else {}
    found = [(key, _typed(item.get(key, defaults.get(key)))) for key in shape.keys if key in item or key in defaults]
    if not found:
        keys = " ".join(f'"{key}"' for key in shape.keys)
        raise MergeError(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return tuple(sorted(found, key=lambda pair: pair[0]))


def _typed(value: Any) -> Hashable:
    """Return a scalar as a key under which 1 and true differ."""
    return (isinstance(value, bool), value if isinstance(value, Hashable) else _shown(value))


def _atomics(schema: Schema, ref: Ref, value: Any, path: str) -> Iterator[str]:
    """The paths of all atomic lists, maps and structs in a fragment."""
    shape = schema.resolve(ref)
    if isinstance(value, dict) and shape.map is not None:
        if shape.map.atomic:
            yield path
        for key, inner in value.items():
            if key in shape.map.fields:
                yield from _atomics(schema, shape.map.fields[key], inner, f"{path}.{key}")
    elif value is NIL and shape.list is not None and shape.list.atomic and shape.map is None:
        yield path
    elif isinstance(value, list) and shape.list is not None:
        if shape.list.atomic:
            yield path
        for index, inner in enumerate(value):
            yield from _atomics(schema, shape.list.element, inner, f"{path}[{index}]")


def _settled(value: Any) -> Any:
    """What is taken over as it was written, with null for each nil slice in it."""
    if value is NIL:
        return None
    if isinstance(value, dict):
        return {key: _settled(inner) for key, inner in value.items()}
    return [_settled(item) for item in value] if isinstance(value, list) else value


class _Merger:
    """Merges two values of one schema; either may be absent, and null is a value."""

    def __init__(self, schema: Schema, problems: Problems, nil: object) -> None:
        self.schema = schema
        self.problems = problems
        self.nil = nil

    def merge(self, ref: Ref, left: Any, right: Any, path: str) -> Any:
        """The merged value, or `ABSENT`."""
        if right is ABSENT:
            return left
        shape = self.schema.resolve(ref)
        if right is NIL:
            return self.nil if shape.map is not None else self._list(shape.list, left, [], path) or self.nil
        chosen = _chosen(shape, right)
        if chosen == "scalar":
            return self._scalar(shape, left, right, path)
        if chosen == "map":
            return self._map(shape.map, left, right, path)
        return self._list(shape.list, left, right, path)

    def _scalar(self, shape: Shape, left: Any, right: Any, path: str) -> Any:
        wrong = _scalar_problem(shape.scalar, right)
        if wrong and (left is ABSENT or _scalar_problem(shape.scalar, left)):
            self.problems.append((path, f"rhs: {wrong}"))
        return left if type(left) is type(right) and left == right else right

    def _map(self, shape: MapShape | None, left: Any, right: Any, path: str) -> Any:
        mine = left if isinstance(left, dict) else {}
        theirs = right if isinstance(right, dict) else {}
        if shape is None or shape.atomic or (not mine and not theirs):
            return _settled(right)
        merged = mine
        for key, inner in theirs.items():
            ref = shape.fields.get(key, shape.others)
            old = mine.get(key, ABSENT)
            value = _settled(inner) if ref is None else self.merge(ref, old, inner, f"{path}.{key}")
            if value is not ABSENT and value is not old:
                merged = dict(mine) if merged is mine else merged
                merged[key] = value
        return merged if left is mine or merged is not mine else dict(mine)

    def _list(self, shape: ListShape | None, left: Any, right: Any, path: str) -> Any:
        mine = left if isinstance(left, list) else []
        theirs = right if isinstance(right, list) else []
        if shape is None or shape.atomic or (not mine and not theirs):
            return _settled(right)
        try:
            a = [_identity(self.schema, shape, item) for item in mine]
            b = [_identity(self.schema, shape, item) for item in theirs]
        except MergeError as error:
            self.problems.append((path, str(error)))
            return right
        woven = _Weaver(self, shape, (mine, a), (theirs, b), path).woven()
        same = left is mine and len(woven) == len(mine) and all(x is y for x, y in zip(woven, mine, strict=True))
        return mine if same else woven


Side = tuple[Sequence[Any], Sequence[Hashable]]


class _Weaver:
    """Merges the items of two lists into one order: both keep their own order, and shared items are merged once."""

    def __init__(self, merger: _Merger, shape: ListShape, left: Side, right: Side, path: str) -> None:
        self.merger, self.shape, self.path = merger, shape, path
        self.left, self.left_ids = left
        self.right, self.right_ids = right
        self.by_right = dict(zip(self.right_ids, self.right, strict=True))
        self.by_left: dict[Hashable, Any] = {}
        for identity, item in zip(self.left_ids, self.left, strict=True):
            # An item that occurs twice is not merged.
            self.by_left[identity] = None if identity in self.by_left else item
        self.shared = iter([identity for identity in self.right_ids if identity in self.by_left])
        self.next_shared: Hashable = next(self.shared, ABSENT)
        self.done: set[Hashable] = set()
        self.out: list[Any] = []

    def woven(self) -> list[Any]:
        """The merged list."""
        at_left = at_right = 0
        while at_left < len(self.left) or at_right < len(self.right):
            moved = self._both(at_left, at_right)
            if moved is None:
                moved = self._one(at_left, at_right)
            at_left, at_right = moved
        return self.out

    def _both(self, at_left: int, at_right: int) -> tuple[int, int] | None:
        if at_left >= len(self.left) or at_right >= len(self.right):
            return None
        identity = self.left_ids[at_left]
        if identity == self.right_ids[at_right]:
            self._take_right(identity)
            self.next_shared = next(self.shared, ABSENT)
            return at_left + 1, at_right + 1
        if identity in self.by_right and self.next_shared is not ABSENT and self.next_shared != identity:
            return at_left + 1, at_right
        return None

    def _one(self, at_left: int, at_right: int) -> tuple[int, int]:
        if at_left < len(self.left):
            identity = self.left_ids[at_left]
            if identity not in self.by_right:
                self.out.append(self.left[at_left])
                return at_left + 1, at_right
            if identity in self.done:
                at_left += 1
        if at_right < len(self.right):
            identity = self.right_ids[at_right]
            self._take_right(identity)
            if self.next_shared == identity:
                self.next_shared = next(self.shared, ABSENT)
            at_right += 1
        return at_left, at_right

    def _take_right(self, identity: Hashable) -> None:
        self.done.add(identity)
        mine = self.by_left.get(identity, ABSENT)
        value = self.merger.merge(self.shape.element, mine, self.by_right[identity], self.path)
        if value is not ABSENT:
            self.out.append(value)
