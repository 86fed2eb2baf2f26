"""The shape of a user's file: which fields there are and what they hold. Checking a document against one.

A shape is data, so that the same tables can give a JSON Schema. What a value means is not checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.diagnostics import Diagnostic, did_you_mean
from webhook.documents import Document, Path


@dataclass(frozen=True, slots=True)
class Text:
    """A string, of which `choices` (where given) are the allowed ones."""

    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of one Python type: bool or int."""

    type: type
    name: str


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value at all."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list of values of one shape."""

    of: Shape
    least: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A map from any key to values of one shape."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Record:
    """A map with known fields, and others where it is `open`."""

    fields: Mapping[str, Shape]
    required: frozenset[str] = field(default_factory=frozenset)
    open: bool = False


@dataclass(frozen=True, slots=True)
class NameOr:
    """A string that names a thing, or the thing itself."""

    of: Record


Shape = Text | Scalar | Anything | Items | Table | Record | NameOr

TEXT = Text()
BOOL = Scalar(bool, "true or false")
INT = Scalar(int, "a whole number")
ANY = Anything()


def record(required: str = "", **fields: Shape) -> Record:
    """Make a record; `required` names the fields that must be there, split by blanks."""
    return Record(fields, frozenset(required.split()))


def check(document: Document, shape: Shape, path: Path = ()) -> Iterator[Diagnostic]:
    """Yield what is wrong with the value at `path`: POL001 unknown field, POL002 missing, POL003 wrong type or word."""
    value = document.at(path)
    if value is None or isinstance(shape, Anything):
        return
    if isinstance(shape, NameOr):
        yield from () if isinstance(value, str) else check(document, shape.of, path)
    elif isinstance(shape, Record):
        yield from _record(document, shape, path, value)
    elif isinstance(shape, Items):
        yield from _items(document, shape, path, value)
    elif isinstance(shape, Table):
        if not isinstance(value, dict):
            yield _wrong(document, path, "a map", value)
        else:
            for key in value:
                yield from check(document, shape.of, (*path, key))
    elif isinstance(shape, Text):
        yield from _text(document, shape, path, value)
    elif type(value) is not shape.type:
        yield _wrong(document, path, shape.name, value)


def _record(document: Document, shape: Record, path: Path, value: Any) -> Iterator[Diagnostic]:
    if not isinstance(value, dict):
        yield _wrong(document, path, "a map", value)
        return
    for key in value:
        if key in shape.fields:
            yield from check(document, shape.fields[key], (*path, key))
        if key in shape.fields or shape.open:
            continue
        hint = did_you_mean(key, shape.fields) or f"known fields: {', '.join(shape.fields)}"
        yield document.diagnostic("POL001", (*path, key), f'unknown field "{key}"{_where(path)}', key=True, hint=hint)
    for key in sorted(shape.required):
        if value.get(key) in (None, ""):
            yield document.diagnostic("POL002", path, f'missing field "{key}"{_where(path)}', key=True)


def _items(document: Document, shape: Items, path: Path, value: Any) -> Iterator[Diagnostic]:
    if not isinstance(value, list):
        yield _wrong(document, path, "a list", value)
        return
    if len(value) < shape.least:
        yield document.diagnostic("POL002", path, f"at least {shape.least} item is required{_where(path)}", key=True)
    for i, item in enumerate(value):
        if item is None and not isinstance(shape.of, Anything):
            yield document.diagnostic("POL003", (*path, i), f"an item{_where(path)} is null")
        yield from check(document, shape.of, (*path, i))


def _text(document: Document, shape: Text, path: Path, value: Any) -> Iterator[Diagnostic]:
    if not isinstance(value, str):
        yield _wrong(document, path, "a string", value)
    elif shape.choices and value not in shape.choices:
        hint = did_you_mean(value, shape.choices) or f"use one of {', '.join(shape.choices)}"
        yield document.diagnostic("POL003", path, f'invalid value "{value}"{_where(path)}', hint=hint)


def _wrong(document: Document, path: Path, wanted: str, value: Any) -> Diagnostic:
    found = {dict: "a map", list: "a list", str: "a string", bool: "true or false"}.get(type(value), "a number")
    message = f"expected {wanted}{_where(path)}, got {found}"
    return document.diagnostic("POL003", path, message, hint=_mended(wanted, value))


def _mended(wanted: str, value: Any) -> str:
    """Write a plain value in the form that is needed."""
    if isinstance(value, dict | list):
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return {"a list": f"write [{text}]", "a string": f'write "{text}"'}.get(wanted, "")


def _where(path: Path) -> str:
    return f" in {dotted(path)}" if path else ""


def dotted(path: Path) -> str:
    """Write a path as `spec.validations[0].expression`."""
    out = ""
    for step in path:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out
