"""What the value of an expression does to an object when a mutating policy gives it: for `sluice eval` only."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from webhook.cel.types import Type, TypeKind
from webhook.cel.values import ABSENT, JSONPatchValue
from webhook.kube import json_patch
from webhook.kube.gvk import gvk_of
from webhook.kube.merge import NIL, Foreign, MergeError, apply_configuration
from webhook.kube.schemas import schema_of
from webhook.policy.patching.apply_configuration import fragment_of
from webhook.policy.patching.apply_json_patch import operation
from webhook.policy.patching.native_values import Given, MutationError, check_names

_EXPONENT: Final = 1e21
"""From here on Go writes doubles with an exponent."""


def mutation(found: Type, value: object, obj: dict[str, Any] | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The `mutation` of an answer: its kind, the fragment or patch, and the patched object or why there is none.

    `given` are the variables of the row.
    """
    if found.kind is TypeKind.OBJECT and found.name == "Object":
        return _applied(value, obj, Given(given.values()))
    if found.kind is TypeKind.LIST and found.params[0].name == "JSONPatch":
        return _patched(value, obj, Given(given.values()))
    return {"kind": "invalid", "error": f"must evaluate to Object or list(JSONPatch) but got {found.declared()}"}


def _applied(value: Any, obj: dict[str, Any] | None, given: Given) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "ApplyConfiguration"}
    try:
        check_names(value)
        fragment = fragment_of(value, given)
        out["native"] = _printed(fragment)
    except MutationError as error:
        return {**out, "error": str(error)}
    if obj is None:
        return out
    try:
        kind = gvk_of(obj)
        named = {**fragment, "apiVersion": kind.api_version, "kind": kind.kind}
        out["patched"] = _printed(apply_configuration(obj, named, schema_of(kind)))
    except (MergeError, KeyError) as error:
        out["applyError"] = f"error applying patch: {error}"
    return out


def _printed(value: Any) -> Any:
    """A tree with what is no JSON in it as text, and whole doubles with the digits that Go writes."""
    if isinstance(value, dict):
        return {name: _printed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_printed(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT:
        return int(Decimal(repr(value)))
    if value is NIL:
        return []
    if isinstance(value, Foreign):
        return value.value if isinstance(value.value, int) else value.text
    return value


def _patched(value: Any, obj: dict[str, Any] | None, given: Given) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "JSONPatch"}
    try:
        steps = [operation(step, given) for step in value]
    except MutationError as error:
        return {**out, "error": str(error)}
    out["patch"] = [_written(step, made) for step, made in zip(value, steps, strict=True)]
    if obj is None:
        return out
    try:
        out["patched"] = _printed(json_patch.apply(obj, steps))
    except json_patch.TestFailed:
        out["patched"] = _printed(obj)
    except json_patch.PatchError as error:
        out["applyError"] = f"JSON Patch: {error}"
    return out


def _written(step: JSONPatchValue, made: json_patch.Operation) -> dict[str, Any]:
    held: dict[str, Any] = {"op": step.op, "path": step.path}
    if step.from_:
        held["from"] = step.from_
    if step.value is not ABSENT:
        held["value"] = _printed(made.value)
    return held
