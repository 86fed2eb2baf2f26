"""What the value of an expression does to an object when a mutating policy gives it: for `sluice eval` only."""

from __future__ import annotations

from typing import Any

from webhook.cel.types import Kind, Type
from webhook.cel.values import ABSENT, JSONPatchValue
from webhook.kube import patch
from webhook.kube.gvk import gvk_of
from webhook.kube.merge import Foreign, MergeError, apply_configuration
from webhook.kube.schemas import schema_of
from webhook.policy import patching
from webhook.policy.native import native


def mutation(found: Type, value: object, obj: dict[str, Any] | None) -> dict[str, Any]:
    """The `mutation` of an answer: its kind, the fragment or patch, and the patched object or why there is none."""
    if found.kind is Kind.OBJECT and found.name == "Object":
        return _applied(value, obj)
    if found.kind is Kind.LIST and found.params[0].name == "JSONPatch":
        return _patched(value, obj)
    return {"kind": "invalid", "error": f"must evaluate to Object or list(JSONPatch) but got {found.declared()}"}


def _applied(value: Any, obj: dict[str, Any] | None) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "ApplyConfiguration"}
    try:
        patching.check_names(value)
        fragment = native(value)
        out["native"] = _printed(fragment)
    except patching.MutationError as error:
        return {**out, "error": str(error)}
    if obj is None:
        return out
    try:
        kind = gvk_of(obj)
        named = {**fragment, "apiVersion": kind.api_version, "kind": kind.kind}
        out["patched"] = apply_configuration(obj, named, schema_of(kind))
    except (MergeError, KeyError) as error:
        out["applyError"] = f"error applying patch: {error}"
    return out


def _printed(value: Any) -> Any:
    """A fragment with what is no JSON in it as text."""
    if isinstance(value, dict):
        return {name: _printed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_printed(inner) for inner in value]
    return str(value) if isinstance(value, Foreign) else value


def _patched(value: Any, obj: dict[str, Any] | None) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "JSONPatch"}
    try:
        steps = [patching.operation(step) for step in value]
    except patching.MutationError as error:
        return {**out, "error": str(error)}
    out["patch"] = [_written(step, made) for step, made in zip(value, steps, strict=True)]
    if obj is None:
        return out
    try:
        out["patched"] = patch.apply(obj, steps)
    except patch.TestFailed:
        out["patched"] = obj
    except patch.PatchError as error:
        out["applyError"] = f"JSON Patch: {error}"
    return out


def _written(step: JSONPatchValue, made: patch.Operation) -> dict[str, Any]:
    held: dict[str, Any] = {"op": step.op, "path": step.path}
    if step.from_:
        held["from"] = step.from_
    if step.value is not ABSENT:
        held["value"] = made.value
    return held
