"""What may follow a dot, or stand alone, in an expression: fields, variables, functions and macros, each described."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from webhook.cel.check.known_fields import FieldShape
from webhook.cel.function_types import Function, Overload
from webhook.cel.types import DYN, STRING, Type, TypeKind, list_of, map_of
from webhook.editor.scan import Cursor
from webhook.editor.vocabulary import Vocabulary
from webhook.kube.schema import MapShape

_NAME: Final = re.compile(r"[A-Za-z_][\w.]*$")
MACROS: Final = {
    "all": "all(x, condition): every element (or key) meets it",
    "exists": "exists(x, condition): at least one does",
    "exists_one": "exists_one(x, condition): exactly one does",
    "filter": "filter(x, condition): the elements that do",
    "map": "map(x, value): the value for each element",
    "sortBy": "sortBy(x, key): the elements in the order of their keys",
    "transformList": "transformList(i, x, value): the value for each index and element",
    "transformMap": "transformMap(k, v, value): the same keys with other values",
}
"""Macros of lists and maps, and what each gives."""


class Sort(IntEnum):
    """What a name is, in the order in which names are offered."""

    FIELD = 0
    VARIABLE = 1
    FUNCTION = 2
    MACRO = 3
    WORD = 4


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A name that may stand at a place: `detail` is its type, or its signatures; `about` a sentence."""

    name: str
    sort: Sort
    detail: str = ""
    about: str = ""


def names_at(known: Vocabulary, at: Cursor) -> Iterator[Name]:
    """Yield every name that may stand at a cursor."""
    known = known.within(at.bindings)
    if at.receiver is None:
        yield from _fields(known, f"{at.struct}{{}}") if at.struct else _alone(known)
        return
    shapes, kind = known.shapes(at.receiver), known.type(at.receiver)
    yield from _fields(known, at.receiver)
    if kind is None:
        yield from _under(known, at.receiver)
        return
    kind = _narrowed(kind, shapes)
    for function in known.env.functions.values():
        taken = [o for o in function.overloads if o.member and _takes(o.args[0], kind)]
        if taken and _NAME.match(function.name):
            yield _described(function, function.name, taken)
    if kind.kind in (TypeKind.LIST, TypeKind.MAP, TypeKind.DYN):
        yield from (Name(name, Sort.MACRO, about=about) for name, about in MACROS.items())


def fields_of(known: Vocabulary, receiver: str) -> dict[str, Name]:
    """Return the fields of what an expression is, by name."""
    return {name.name: name for name in _fields(known, receiver)}


def _fields(known: Vocabulary, receiver: str) -> Iterator[Name]:
    struct = receiver.removesuffix("{}")
    if known.env.mutation and struct.split(".")[0] == "Object":
        shapes = known.shapes(struct.replace("Object", "object", 1)) + _elements(known, struct)
    else:
        shapes = known.shapes(receiver)
    seen: dict[str, Name] = {}
    for found in shapes:
        shape = found.shape.map
        for name, ref in shape.fields.items() if isinstance(shape, MapShape) else ():
            seen.setdefault(name, Name(name, Sort.FIELD, *_shape(found.at(ref))))
    kind = known.type(receiver)
    for name in known.env.field_names(kind.name) if kind is not None and kind.kind is TypeKind.OBJECT else ():
        seen.setdefault(name, Name(name, Sort.FIELD, str(known.env.field_type(str(kind and kind.name), name))))
    yield from seen.values()


def _elements(known: Vocabulary, struct: str) -> list[FieldShape]:
    """Return what the elements of a list are: a fragment of a list describes one of them."""
    listed = known.shapes(struct.replace("Object", "object", 1))
    return [found.at(found.shape.list.element) for found in listed if found.shape.list is not None]


def _shape(found: FieldShape) -> tuple[str, str]:
    """Return what a field holds, and which words it may be."""
    shape = found.shape
    if shape.scalar:
        return shape.scalar, f"one of {', '.join(shape.words)}" if shape.words else ""
    return ("list", "") if shape.list is not None else ("map", "") if shape.map is not None else ("", "")


def _narrowed(kind: Type, shapes: list[FieldShape]) -> Type:
    """Return the type that the schemas know where the checker does not."""
    if kind != DYN or not shapes:
        return kind
    words = {_shape(found)[0] for found in shapes}
    known = {"string": STRING, "list": list_of(DYN), "map": map_of(STRING, DYN)}
    return known.get(words.pop(), DYN) if len(words) == 1 else DYN


def _alone(known: Vocabulary) -> Iterator[Name]:
    """Yield the names that may begin an expression."""
    for name, kind in known.env.variables.items():
        if "." not in name and not name.startswith("@"):
            yield Name(name, Sort.VARIABLE, str(kind))
    for function in known.env.functions.values():
        plain = [o for o in function.overloads if not o.member]
        if plain and _NAME.match(function.name):
            yield _described(function, function.name, plain)
    yield Name("has", Sort.MACRO, about="has(a.b): whether the field is there")
    yield Name("cel.bind", Sort.MACRO, about="cel.bind(x, value, expression): a name for a value")
    yield from (Name(word, Sort.WORD) for word in ("true", "false", "null"))
    if known.env.mutation:
        yield Name("Object", Sort.WORD, about="a part of the object to be merged in: Object{spec: Object.spec{...}}")
        yield Name("JSONPatch", Sort.WORD, about='JSONPatch{op: "add", path: "/...", value: ...}')


def _under(known: Vocabulary, receiver: str) -> Iterator[Name]:
    """Yield the functions below a name that is no value, such as `math`."""
    for function in known.env.functions.values():
        if function.name.startswith(f"{receiver}."):
            yield _described(function, function.name.removeprefix(f"{receiver}."), list(function.overloads))


def _described(function: Function, name: str, overloads: list[Overload]) -> Name:
    return Name(name, Sort.FUNCTION, "; ".join(signature(name, overload) for overload in overloads), function.doc)


def signature(name: str, overload: Overload) -> str:
    """Write a signature: `string.startsWith(string) -> bool`."""
    args = list(map(str, overload.args))
    head = f"{args.pop(0)}.{name}" if overload.member and args else name
    return f"{head}({', '.join(args)}) -> {overload.result}"


def _takes(wanted: Type, kind: Type) -> bool:
    if kind.kind is TypeKind.DYN or wanted.kind in (TypeKind.DYN, TypeKind.PARAM):
        return True
    return wanted.name == kind.name
