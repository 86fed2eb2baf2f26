"""Validates an object against its CRD: returns the first invalid field, in one sentence.

An API server with these CRDs rejects such an object; files, and clusters with other CRDs, may contain it. It checks
enumerations, bounds, quantities and list keys under `spec`, by the schema; not missing fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from webhook.api.crds.kinds import KINDS
from webhook.api.crds.schema import structural
from webhook.kube.well_known import KUEUE

Schema = Mapping[str, Any]
Object = Mapping[str, Any]
_KEYS: Final = "x-kubernetes-list-map-keys"


def problem_of(obj: Object) -> str:
    """Return the first thing in an object's spec that its schema does not allow, "" where there is none."""
    schema = _spec(str(obj.get("kind") or ""), str(obj.get("apiVersion") or "").rpartition("/")[2])
    spec = obj.get("spec")
    return next(_violations(schema, spec, "spec"), "") if schema is not None else ""


def problem_of_workload(obj: Object) -> str:
    """Return the same for a Workload, by hand: there are many of them, and little in them can be wrong."""
    names: set[str] = set()
    for number, pod_set in enumerate((obj.get("spec") or {}).get("podSets") or ()):
        where, name = f"spec.podSets[{number}]", str(pod_set.get("name") or "main")
        count, least = pod_set.get("count"), pod_set.get("minCount")
        if name in names:
            return f"{where}.name: duplicate name {name}"
        if isinstance(count, int) and count < 0:
            return f"{where}.count: {count} is less than 0"
        if isinstance(least, int) and least < 1:
            return f"{where}.minCount: {least} is less than 1"
        names.add(name)
    return ""


@cache
def _spec(kind: str, version: str) -> Schema | None:
    row = next((k for k in KINDS if k.group == KUEUE and k.kind == kind), None)
    if row is None:
        return None
    found = next((v for v in row.versions if v.name == version), row.versions[0])
    schema: Schema | None = structural(found.type)["properties"].get("spec")
    return schema


def _violations(schema: Schema, value: Any, where: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in (schema.get("properties") or {}).items():
            if value.get(name) is not None:
                yield from _violations(inner, value[name], f"{where}.{name}")
    elif isinstance(value, list):
        yield from _of_list(schema, value, where)
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is not one of {', '.join(schema['enum'])}"
    elif isinstance(value, int | float) and value < schema.get("minimum", value):
        yield f"{where}: {value} is less than {schema['minimum']}"
    elif isinstance(value, str) and schema.get("x-kubernetes-int-or-string") and not _fits(schema, value):
        yield f"{where}: {value} is less than 0" if value.startswith("-") else f"{where}: {value!r} is not a quantity"


def _of_list(schema: Schema, items: list[Any], where: str) -> Iterator[str]:
    seen: set[tuple[str, ...]] = set()
    for number, item in enumerate(items):
        yield from _violations(schema.get("items") or {}, item, f"{where}[{number}]")
        keys = schema.get(_KEYS)
        if keys and isinstance(item, Mapping):
            found = tuple(str(item.get(key)) for key in keys)
            if found in seen:
                yield f"{where}[{number}].{keys[0]}: duplicate value {found[0]}"
            seen.add(found)


def _fits(schema: Schema, value: str) -> bool:
    pattern = schema.get("pattern")
    return not pattern or re.match(pattern, value) is not None
