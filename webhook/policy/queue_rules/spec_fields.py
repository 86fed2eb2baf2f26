"""The fields of a QueuePolicy, held against the schema of its type: what is not in it, or of another type, is told.

Rules must be texts, of which nothing is read here; what an expression says is `compile.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from webhook.api.crds.schema import structural
from webhook.api.types.queuepolicy import QueuePolicySpec
from webhook.diagnostics import Diagnostic, did_you_mean
from webhook.documents import Document, Path
from webhook.policy.loading.shapes import dotted

SPEC: Final = ("spec",)
LAWS: Final = ("spec", "laws")
RENAMED_LAWS: Final = {"LivingIsFresh": "SameAfterRestart"}
"""Laws by the names that they had up to 0.1."""
Schema = Mapping[str, Any]
_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "object": ((dict,), "a map"),
    "array": ((list,), "a list"),
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
}


def check_fields(document: Document) -> Iterator[Diagnostic]:
    """Return the problems of the fields of a QueuePolicy: RUL001 unknown, RUL002 missing, wrong type, out of range."""
    if not isinstance(document.at(SPEC), dict):
        yield document.diagnostic(
            "RUL002", (), "a QueuePolicy must have a spec", hint="add spec: with the rules below it"
        )
        return
    yield from _value(document, _schema(), SPEC)


@lru_cache(maxsize=1)
def _schema() -> Schema:
    return structural(QueuePolicySpec)


def _value(document: Document, schema: Schema, path: Path) -> Iterator[Diagnostic]:
    value = document.at(path)
    if value is None or "type" not in schema:
        return
    types, wanted = _TYPES[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        message = f"{dotted(path)} must be {wanted}, not {_named(value)}"
        yield document.diagnostic("RUL002", path, message, hint=_mended(schema["type"], value))
    elif isinstance(value, dict) and "properties" in schema:
        yield from _record(document, schema, path, value)
    elif isinstance(value, dict | list):
        inner = schema.get("additionalProperties" if isinstance(value, dict) else "items") or {}
        yield from _bounds(document, schema, path, len(value))
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _value(document, inner, (*path, key))
    else:
        yield from _plain(document, schema, path, value)


def _record(document: Document, schema: Schema, path: Path, value: Mapping[str, Any]) -> Iterator[Diagnostic]:
    fields = schema["properties"]
    for key in value:
        if key in fields:
            yield from _value(document, fields[key], (*path, key))
            continue
        hint = did_you_mean(str(key), fields) or f"known fields: {', '.join(fields)}"
        message = f"unknown rule point or setting {dotted((*path, key)[1:])}"
        yield document.diagnostic("RUL001", (*path, key), message, key=True, hint=hint)
    for key in schema.get("required", ()):
        if value.get(key) is None:
            yield document.diagnostic("RUL002", path, f"{dotted(path)} requires {key}")


def _plain(document: Document, schema: Schema, path: Path, value: Any) -> Iterator[Diagnostic]:
    renamed = RENAMED_LAWS.get(value) if path[:2] == LAWS else None
    if renamed or ("enum" in schema and value not in schema["enum"]):
        known = schema.get("enum", ())
        hint = f"use {renamed}" if renamed else did_you_mean(value, known) or f"use one of {', '.join(known)}"
        yield document.diagnostic("RUL002", path, f'invalid value "{value}" in {dotted(path)}', hint=hint)
    elif isinstance(value, str):
        yield from _bounds(document, schema, path, len(value))
    elif "minimum" in schema and value < schema["minimum"]:
        message = f"{dotted(path)} is {value}; the minimum is {schema['minimum']}"
        yield document.diagnostic("RUL002", path, message)


def _bounds(document: Document, schema: Schema, path: Path, length: int) -> Iterator[Diagnostic]:
    least = schema.get("minLength", schema.get("minItems", 0))
    most = schema.get("maxLength", schema.get("maxItems", length))
    if length < least:
        yield document.diagnostic("RUL002", path, f"{dotted(path)} must not be empty")
    elif length > most:
        yield document.diagnostic("RUL002", path, f"{dotted(path)} has {length} items; the maximum is {most}")


def _named(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "a map", list: "a list", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), f"a {type(value).__name__}")


def _mended(wanted: str, value: Any) -> str:
    """Write a plain value in the form that is needed, where it is plain what was meant."""
    if isinstance(value, dict | list):
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if wanted == "boolean" and text in ("true", "false"):
        return f"write {text}, without quotes"
    return {"array": f"write [{text}]", "string": f'write "{text}": an expression is a string'}.get(wanted, "")
