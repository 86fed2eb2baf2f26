"""Literals of lists, maps and objects. Part of `emitter.py`; see its docstring for the rules."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.cel.codegen.source_writer import Code, SourceWriter
from webhook.cel.lib import costs
from webhook.cel.messages import MESSAGES
from webhook.cel.syntax.nodes import CreateList, CreateMap, CreateStruct, Field, Literal, Node
from webhook.cel.types import STRING, Type


def list_of(to: SourceWriter, node: CreateList) -> Code:
    """A list; with optional elements it is built by statements."""
    to.spend(costs.LIST_BASE)
    found, count = to.checked.types.get(node.id), len(node.elements)
    if not node.optional:
        text = f"[{', '.join(to.value(e).text for e in node.elements)}]"
        to.known.learn(("is", text), "list")
        return Code(text, found, size=count)
    name = to.fresh()
    to.line(f"{name} = []")
    for at, element in enumerate(node.elements):
        if at not in node.optional:
            to.line(f"{name}.append({to.value(element).text})")
            continue
        held = to.held(to.optional(element))
        to.line(f"if {held.text} is not ABSENT: {name}.append({held.text})")
    to.known.learn(("is", name), "list")
    return Code(name, found, True, size=count)


def map_of(to: SourceWriter, node: CreateMap) -> Code:
    """A map: written out where its keys are constant texts and there are no optional ones, else by statements."""
    to.spend(costs.MAP_BASE)
    fixed = [
        (entry.key.value, entry.value)
        for entry in node.entries
        if isinstance(entry.key, Literal) and isinstance(entry.key.value, str) and not entry.optional
    ]
    if len({key for key, _ in fixed}) == len(node.entries):
        return Code(_entries(to, fixed), to.checked.types.get(node.id))
    name = to.fresh()
    to.line(f"{name} = {{}}")
    for entry in node.entries:
        key = to.value(entry.key)
        _entry(to, name, key, entry.value, optional=entry.optional)
    return Code(name, to.checked.types.get(node.id), True)


def _entry(to: SourceWriter, name: str, key: Code, value: Node, *, optional: bool) -> None:
    """One entry of a map or field of an object."""
    if optional:
        held = to.held(to.optional(value))
        to.line(f"if {held.text} is ABSENT: drop({name}, {key.text})")
        to.line(f"else: put({name}, {key.text}, {held.text})")
    else:
        to.line(f"put({name}, {key.text}, {to.value(value).text})")


def _entries(to: SourceWriter, items: Iterable[tuple[str, Node]]) -> str:
    """A map of values under constant texts, none of them twice."""
    return f"{{{', '.join(f'{to.constant(key)}: {to.value(value).text}' for key, value in items)}}}"


def struct(to: SourceWriter, node: CreateStruct) -> Code:
    """An object of a mutation."""
    to.spend(costs.STRUCT_BASE)
    named = to.checked.structs.get(node.id, node.type_name)
    found, optional = to.checked.types.get(node.id), any(item.optional for item in node.fields)
    distinct = len({item.name for item in node.fields}) == len(node.fields)
    if named != "JSONPatch" and named not in MESSAGES and distinct:
        items = ((item.name, item.value) for item in node.fields)
        fields = _fields(to, node.fields) if optional else _entries(to, items)
        return _made(to, "ObjectValue", {"type_name": to.constant(named), "fields": fields}, found)
    if named == "JSONPatch" and distinct and not optional and all(map(_ordinary, node.fields)):
        given = {item.name: to.value(item.value).text for item in node.fields}
        parts = {name: given.get(word, other) for word, name, other in _PATCH}
        return _made(to, "JSONPatchValue", parts, found)
    name = to.fresh()
    to.line(f"{name} = {{}}")
    for item in node.fields:
        _entry(to, name, Code(to.constant(item.name), STRING, True), item.value, optional=item.optional)
    return Code(f"new_object({to.constant(named)}, {name})", found)


def _fields(to: SourceWriter, fields: Iterable[Field]) -> str:
    """The name of a map of an object's fields, none of them twice, of which some may not be there."""
    name = to.fresh()
    to.line(f"{name} = {{}}")
    for item in fields:
        place = f"{name}[{to.constant(item.name)}]"
        if item.optional:
            held = to.held(to.optional(item.value))
            to.line(f"if {held.text} is not ABSENT: {place} = {held.text}")
        else:
            to.line(f"{place} = {to.value(item.value).text}")
    return name


_PATCH = (("op", "op", "''"), ("path", "path", "''"), ("from", "from_", "''"), ("value", "value", "ABSENT"))
"""Fields of a JSONPatch, their attributes, and what these are where nothing was set."""


def _made(to: SourceWriter, cls: str, parts: dict[str, str], found: Type | None) -> Code:
    """An object of a class that only holds its parts: setting them is twice as fast as calling the class."""
    name = to.fresh()
    to.line(f"{name} = new({cls})")
    for attribute, text in parts.items():
        to.line(f"{name}.{attribute} = {text}")
    return Code(name, found, True)


def _ordinary(item: Field) -> bool:
    """Whether a field of a JSONPatch is sure to be taken: a literal text, or the value."""
    literal = isinstance(item.value, Literal) and isinstance(item.value.value, str)
    return item.name == "value" or (item.name in ("op", "path", "from") and literal)
