"""JSON Schema of every kind that Sluice reads, for editors: made from the shapes that files are checked against.

One schema is for files of all kinds: it depends on `apiVersion` and `kind`. Objects of other kinds are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.api.crds.definitions import top_level
from webhook.api.crds.kinds import FILE_KINDS, KINDS
from webhook.api.crds.schema import editor_schema
from webhook.offline.reference.field_words import WORDS
from webhook.offline.suite.suite_file import GROUP as OWN_VERSION
from webhook.offline.suite.suite_file import SHAPE as SUITE_SHAPE
from webhook.policy.loading.policy_kinds import ANNOTATIONS, EXCEPTION, EXCEPTION_SHAPE, GROUP, SHAPES, VERSIONS
from webhook.policy.loading.shapes import Anything, Items, NameOr, Record, Scalar, Shape, Table, Text

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
"""The draft that every editor knows."""
SUITE: Final = "Suite"
Schema = dict[str, Any]
Kind = tuple[tuple[str, ...], str]
"""The versions (group/version) of a kind, and its name."""


def of_files() -> Schema:
    """Return the schema of a file with objects of any kinds."""
    found = of_kinds()
    known = sorted(kind for versions, kind in found if OWN_VERSION in versions)
    return {
        "$schema": DRAFT,
        "title": "Policies, suites and queues of Sluice",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "allOf": [
            {"if": _says("apiVersion", OWN_VERSION), "then": {"properties": {"kind": {"enum": known}}}},
            *({"if": _is(*kind), "then": {"$ref": f"#/definitions/{_name(*kind)}"}} for kind in found),
        ],
        "definitions": {_name(*kind): schema for kind, schema in found.items()},
    }


def of_kind(name: str) -> Schema | None:
    """Return the schema of one kind, in its newest version; None where there is no such kind."""
    for (_, kind), schema in of_kinds().items():
        if kind == name:
            return {"$schema": DRAFT, "title": kind, **schema}
    return None


def of_kinds() -> dict[Kind, Schema]:
    """Return the schema of every kind, the newest version of a kind first."""
    found: dict[Kind, Schema] = {((OWN_VERSION,), SUITE): _object(SUITE, SUITE_SHAPE, (OWN_VERSION,))}
    found[(OWN_VERSION,), EXCEPTION] = _object(EXCEPTION, EXCEPTION_SHAPE, (OWN_VERSION,))
    native = tuple(f"{GROUP}/{version}" for version in sorted(VERSIONS, key=len))
    for kind, shape in SHAPES.items():
        found[native, kind] = _object(kind, shape, native)
    for row in (*FILE_KINDS, *KINDS):
        for version in row.versions:
            made = editor_schema(row.group, version.name, row.kind, top_level(version.type))
            del made["$schema"]
            found[(f"{row.group}/{version.name}",), row.kind] = made
    return found


def _object(kind: str, shape: Record, versions: tuple[str, ...]) -> Schema:
    made = schema_of(shape)
    for path, text in WORDS.get(kind, {}).items():
        _at(made, path)["description"] = text
    fields = made["properties"]
    fields["apiVersion"] = {"enum": list(versions)}
    fields["kind"] = {"const": kind}
    made["required"] = sorted({"apiVersion", "kind", *made.get("required", ())})
    if kind in SHAPES:
        extras = {name: {"enum": list(words)} if words else {"type": "string"} for name, words in ANNOTATIONS.items()}
        fields["metadata"]["properties"]["annotations"]["properties"] = extras
    return made


def schema_of(shape: Shape) -> Schema:
    """Write a shape as a JSON Schema. Null, which a shape lets stand for an absent field, is not let through."""
    if isinstance(shape, Record):
        made: Schema = {"type": "object", "properties": {k: schema_of(v) for k, v in shape.fields.items()}}
        if shape.required:
            made["required"] = sorted(shape.required)
        return made if shape.open else {**made, "additionalProperties": False}
    if isinstance(shape, NameOr):
        return {"anyOf": [{"type": "string"}, schema_of(shape.of)]}
    if isinstance(shape, Items):
        items = {"type": "array", "items": schema_of(shape.of)}
        return {**items, "minItems": shape.least} if shape.least else items
    if isinstance(shape, Table):
        return {"type": "object", "additionalProperties": schema_of(shape.of)}
    if isinstance(shape, Text):
        return {"type": "string", "enum": list(shape.choices)} if shape.choices else {"type": "string"}
    if isinstance(shape, Scalar):
        return {"type": "boolean" if shape.type is bool else "integer"}
    assert isinstance(shape, Anything)
    return {}


def _at(schema: Schema, path: str) -> Schema:
    """Return the schema of a field such as `cases.expect`: through lists and tables as if they were not there."""
    for field in path.split("."):
        schema = _inside(schema)["properties"][field]
    return schema


def _inside(schema: Schema) -> Schema:
    while "properties" not in schema:
        schema = schema.get("items") or schema["additionalProperties"]
    return schema


def _says(field: str, *values: str) -> Schema:
    return {"required": [field], "properties": {field: {"enum": list(values)}}}


def _is(versions: tuple[str, ...], kind: str) -> Schema:
    both: Mapping[str, Schema] = {"apiVersion": {"enum": list(versions)}, "kind": {"const": kind}}
    return {"required": list(both), "properties": dict(both)}


def _name(versions: tuple[str, ...], kind: str) -> str:
    return f"{kind}.{versions[0].partition('/')[2]}"
