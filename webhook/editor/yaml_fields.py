"""What may be written as a field of a file, or as its value: from the schemas that `sluice generate schema` prints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from webhook.documents import Path
from webhook.editor.members import Name, Sort
from webhook.editor.workspace import Workspace
from webhook.offline.lint.context import Subject
from webhook.offline.reference.json_schema import Schema, of_kinds

_POLICIES: Final = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
_REFERENCES: Final = {"policyName": _POLICIES, "policyNames": _POLICIES, "extends": ("QueuePolicy",)}
"""Fields that name an object, and of which kinds."""


@cache
def _schemas() -> dict[tuple[str, str], Schema]:
    return {(version, kind): schema for (versions, kind), schema in of_kinds().items() for version in versions}


def schema_at(subject: Subject, path: Path) -> Schema | None:
    """Return the schema of a field; None where it is not known."""
    schema = _schemas().get((subject.gvk.api_version, subject.gvk.kind))
    for step in path:
        if schema is None:
            return None
        if isinstance(step, int):
            schema = schema.get("items")
            continue
        others = schema.get("additionalProperties")
        schema = schema.get("properties", {}).get(step) or (others if isinstance(others, dict) else None)
    return schema


def fields_below(subject: Subject, path: Path) -> Iterator[Name]:
    """Yield the fields that a map may have and does not have yet; those of an element where a list stands there."""
    schema: dict[str, Any] = schema_at(subject, path) or {}
    schema = schema.get("items", schema) if "properties" not in schema else schema
    present = subject.map(*path)
    for name, held in schema.get("properties", {}).items():
        if name not in present:
            yield Name(name, Sort.FIELD, _type(held), held.get("description", ""))


def values_at(subject: Subject, path: Path, workspace: Workspace) -> Iterator[Name]:
    """Yield the words that a field may hold: those of its schema, or names of objects that it may refer to."""
    schema = schema_at(subject, path) or {}
    words = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if schema.get("type") == "boolean":
        words = ["true", "false"]
    yield from (Name(str(word), Sort.WORD) for word in words)
    kinds = _REFERENCES.get(str(next((step for step in reversed(path) if isinstance(step, str)), "")), ())
    found = {s.name: s for s in workspace.subjects() if s.gvk.kind in kinds and s.name}
    yield from (Name(name, Sort.WORD, s.gvk.kind) for name, s in found.items())


def _type(schema: Schema) -> str:
    return str(schema.get("type") or ("" if "enum" not in schema else "string"))
