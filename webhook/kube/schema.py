"""Schemas of kinds for structured merge and the CEL checker: scalars, lists by key, set or atomic, maps with fields.

Shapes come from compact files (`schemas/`) or from the schema of a CRD; `UNTYPED` is for kinds without one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NUMERIC: Final = frozenset({"integer", "number"})
SCALARS: Final = {
    "s": "string",
    "i": "integer",
    "n": "number",
    "b": "boolean",
    "y": "string",
    "t": "untyped",
    "q": "untyped",
    "x": "untyped",
    "u": "untyped",
}
"""Codes of scalars in the compact form; y are bytes, t times, q quantities, x an integer or a string."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Where a shape stands: under a name, or here. `atomic` overrides what the shape says of itself."""

    name: str = ""
    inline: Shape | None = None
    atomic: bool | None = None


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list: `keys` name its items, `unique` makes it a set, neither replaces it as a whole."""

    element: Ref
    keys: tuple[str, ...] = ()
    unique: bool = False

    @property
    def atomic(self) -> bool:
        """Whether the list is replaced as a whole."""
        return not self.keys and not self.unique


@dataclass(frozen=True, slots=True)
class MapShape:
    """A map or an object: its fields, the shape of all other keys (None: there may be none), and defaults of fields."""

    fields: Mapping[str, Ref] = field(default_factory=dict)
    others: Ref | None = None
    atomic: bool = False
    defaults: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value may be: one of a scalar (its type, "" for none), a list, a map; or several of them.

    `words` are all the texts that a string may be, empty where it may be any.
    """

    scalar: str = ""
    list: ListShape | None = None
    map: MapShape | None = None
    code: str = ""
    words: tuple[str, ...] = ()


_ATOMIC_NAME: Final = "*"
_DEDUCED_NAME: Final = "~"
_ATOMIC: Final = Ref(_ATOMIC_NAME)
_DEDUCED: Final = Ref(_DEDUCED_NAME)
_COMMON: Final = {
    _ATOMIC_NAME: Shape("untyped", ListShape(_ATOMIC), MapShape(others=_ATOMIC, atomic=True)),
    _DEDUCED_NAME: Shape("untyped", ListShape(_ATOMIC), MapShape(others=_DEDUCED)),
}


@dataclass(frozen=True, slots=True)
class Schema:
    """A kind: where its shape begins, and how a name leads to a shape."""

    root: Ref
    find: Callable[[str], Shape]

    def resolve(self, ref: Ref) -> Shape:
        """The shape a reference leads to."""
        shape = ref.inline if ref.inline is not None else _COMMON.get(ref.name) or self.find(ref.name)
        if ref.atomic is None or shape.map is None or shape.map.atomic is ref.atomic:
            return shape
        changed = MapShape(shape.map.fields, shape.map.others, ref.atomic, shape.map.defaults)
        return Shape(shape.scalar, shape.list, changed, shape.code)

    def field(self, *path: str) -> Shape | None:
        """The shape at a path of field names (`*` steps into the items of a list), None where there is none."""
        shape = self.resolve(self.root)
        for step in path:
            ref = _step(shape, step)
            if ref is None:
                return None
            shape = self.resolve(ref)
        return shape


def _step(shape: Shape, name: str) -> Ref | None:
    if name == "*" and shape.list is not None:
        return shape.list.element
    if shape.map is None:
        return None
    return shape.map.fields.get(name, shape.map.others)


def _nowhere(name: str) -> Shape:
    raise KeyError(name)


UNTYPED: Final = Schema(_DEDUCED, _nowhere)
"""The schema of kinds without one: maps merge, lists are replaced."""


def decode(node: Any) -> Ref:
    """Read a reference in the compact form: a code, `@name`, or a dict.

    Its keys: l k u for lists, f o d for maps, a for what is atomic, e for the words of a text.
    """
    if isinstance(node, str):
        if node.startswith("@"):
            return Ref(node[1:])
        return Ref(node) if node in _COMMON else Ref(inline=Shape(SCALARS[node], code=node))
    if "r" in node:
        return Ref(node["r"], atomic=bool(node["a"]))
    return Ref(inline=decode_shape(node))


def decode_shape(node: Any) -> Shape:
    """Read a shape in the compact form."""
    if isinstance(node, str):
        ref = decode(node)
        assert ref.inline is not None
        return ref.inline
    if "e" in node:
        return Shape(SCALARS[node["s"]], code=node["s"], words=tuple(node["e"]))
    items = node.get("l")
    entries = "f" in node or "o" in node
    return Shape(
        SCALARS[node["s"]] if "s" in node else "",
        None if items is None else ListShape(decode(items), tuple(node.get("k", ())), bool(node.get("u"))),
        _decode_map(node) if entries else None,
    )


def _decode_map(node: dict[str, Any]) -> MapShape:
    others = node.get("o")
    return MapShape(
        {name: decode(inner) for name, inner in node.get("f", {}).items()},
        None if others is None else decode(others),
        bool(node.get("a")),
        node.get("d", {}),
    )


def compact(schema: Mapping[str, Any], keep_unknown: bool = False) -> Any:
    """The compact form of an OpenAPI v3 schema as the API server publishes it or a CRD holds it.

    `keep_unknown`: an ancestor has x-kubernetes-preserve-unknown-fields. Rules: kube-openapi's schemaconv.
    """
    keep_unknown = keep_unknown or schema.get("x-kubernetes-preserve-unknown-fields") is True
    name = reference(schema)
    if name:
        kind = schema.get("x-kubernetes-map-type")
        return {"r": name, "a": int(kind == "atomic")} if kind else f"@{name}"
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return "x"
    kind = schema.get("type", "")
    if kind == "object":
        return _compact_map(schema, keep_unknown)
    if kind == "array":
        return _compact_list(schema, keep_unknown)
    if kind in ("", None):
        return {"s": "u", **_compact_list(schema, keep_unknown), **_compact_map(schema, keep_unknown)}
    code = _compact_scalar(kind, schema.get("format", ""))
    words = schema.get("enum", ())
    return {"s": code, "e": list(words)} if code == "s" and words and all(isinstance(w, str) for w in words) else code


def reference(schema: Mapping[str, Any]) -> str:
    """The name that a schema refers to, directly or in an `allOf` of one; "" if it is a schema of its own."""
    whole: list[Mapping[str, Any]] = schema.get("allOf") or []
    target = schema.get("$ref") or (whole[0].get("$ref", "") if len(whole) == 1 else "")
    return str(target).rpartition("/")[2]


def _compact_scalar(kind: str, form: str) -> str:
    if kind == "string":
        return {"": "s", "byte": "y", "date-time": "t"}.get(form, "u")
    return {"integer": "i", "number": "n", "boolean": "b"}.get(kind, "u")


def _compact_map(schema: Mapping[str, Any], keep_unknown: bool) -> dict[str, Any]:
    properties = schema.get("properties", {})
    node: dict[str, Any] = {"f": {name: compact(inner, keep_unknown) for name, inner in sorted(properties.items())}}
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        node["o"] = compact(more, keep_unknown)
    elif more is True or (more is None and (keep_unknown or not properties)):
        node["o"] = _DEDUCED_NAME
    if schema.get("x-kubernetes-map-type") == "atomic":
        node["a"] = 1
    defaults = {name: inner["default"] for name, inner in properties.items() if inner.get("default") not in (None, {})}
    if defaults:
        node["d"] = dict(sorted(defaults.items()))
    return node


def _compact_list(schema: Mapping[str, Any], keep_unknown: bool) -> dict[str, Any]:
    node: dict[str, Any] = {"l": compact(schema["items"], keep_unknown) if "items" in schema else _ATOMIC_NAME}
    kind, strategy = schema.get("x-kubernetes-list-type"), str(schema.get("x-kubernetes-patch-strategy", ""))
    if kind == "map":
        node["k"] = list(schema.get("x-kubernetes-list-map-keys", ()))
    elif kind == "set":
        node["u"] = 1
    elif kind is None and strategy.startswith("merge"):
        key = schema.get("x-kubernetes-patch-merge-key")
        node |= {"k": [key]} if key else {"u": 1}
    return node


def from_crd(crd: Mapping[str, Any], version: str) -> Schema:
    """The schema of a version of a custom kind, from its CustomResourceDefinition; UNTYPED where it has none.

    metadata has the shape that all objects share, which `schemas.metadata()` gives; here it merges as a free map. A
    CRD of a file may be one that no API server takes, such as with `type: [string, "null"]`: it counts as without one.
    """
    try:
        return _from_crd(crd, version)
    except (TypeError, AttributeError, ValueError, LookupError):
        return UNTYPED


def _from_crd(crd: Mapping[str, Any], version: str) -> Schema:
    for entry in crd.get("spec", {}).get("versions", ()):
        if entry.get("name") == version and "schema" in entry:
            node = compact({**entry["schema"].get("openAPIV3Schema", {})})
            if isinstance(node, dict) and "f" in node:
                common = {"apiVersion": "s", "kind": "s", "metadata": _DEDUCED_NAME}
                node["f"] = {**node["f"], **common}
            return Schema(decode(node), _nowhere)
    return UNTYPED
