"""Rules for document fields: unknown fields, fields of the wrong type, kinds that are no longer served.

Schemas are the API server's for built-in kinds, Sluice's for the queue kinds, and those of CRDs among the files.
Policies and suites are checked by their loaders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from webhook.api.crds.definitions import Webhook, definitions
from webhook.api.crds.kinds import FILE_KINDS, KINDS
from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.schema import Schema, Shape, from_crd
from webhook.kube.schemas import built_in_kinds, is_built_in, schema_of
from webhook.kube.well_known import SLUICE
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import policies
from webhook.policy.loading.policy_kinds import EXCEPTION, GROUP, SHAPES, VERSIONS
from webhook.policy.loading.shapes import dotted

_LOADED: Final = frozenset({EXCEPTION, "Suite", *SHAPES})
_ALL_VERSIONS: Final = Webhook(url="https://localhost")
"""With a conversion webhook a CRD describes its older versions, too."""
_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
_TYPES: Final = {
    "object": "a map",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
}
_VERSIONS: Final = ("v1", "v2", "v1beta1", "v1beta2", "v1alpha1")
_SERVED: Final = ("", "apps", "batch", "policy", "autoscaling", "networking.k8s.io", "rbac.authorization.k8s.io",
                  "storage.k8s.io", "scheduling.k8s.io", "extensions")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that is wrong with a value: an unknown key, or another type than the field's."""

    path: Path
    message: str
    hint: str = ""
    unknown: bool = False


@cache
def _own() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the CRDs of the queue's kinds, and the like of those that live in files only."""
    kinds = (*KINDS, *FILE_KINDS)
    return {(k.group, k.kind): crd for k, crd in zip(kinds, definitions(_ALL_VERSIONS, kinds), strict=True)}


def schema_for(context: LintContext, gvk: GroupVersionKind) -> Schema | None:
    """Return the schema of a kind, None where nobody described it or its loader checks it."""
    if gvk.kind in _LOADED:
        return None
    if is_built_in(gvk):
        return schema_of(gvk)
    crds = {**_own(), **_among(context)}
    crd = crds.get((gvk.group, gvk.kind))
    found = from_crd(crd, gvk.version) if crd is not None else None
    return found if found is not None and found.resolve(found.root).map is not None else None


def _among(context: LintContext) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the CRDs among the files."""
    found = {}
    for subject in context.of("apiextensions.k8s.io", "CustomResourceDefinition"):
        found[(subject.text("spec", "group"), subject.text("spec", "names", "kind"))] = subject.value
    return found


def wrongs(schema: Schema, value: Any) -> Iterator[Wrong]:
    """Yield what is wrong with an object by its schema."""
    metadata = schema_of(GroupVersionKind("", "v1", "Namespace"))
    shape = schema.resolve(schema.root)
    for key, child in value.items():
        if key == "metadata":
            if (found := metadata.field("metadata")) is not None:
                yield from _wrong(metadata, found, child, ("metadata",))
        elif key not in _ENVELOPE:
            yield from _entry(schema, shape, key, child, ())


def _wrong(schema: Schema, shape: Shape, value: Any, path: Path) -> Iterator[Wrong]:
    if value is None:
        return
    if isinstance(value, dict):
        if shape.map is None:
            yield Wrong(path, f"{dotted(path)} is a map, expected {_wanted(shape)}")
        else:
            for key, child in value.items():
                yield from _entry(schema, shape, key, child, path)
    elif isinstance(value, list):
        if shape.list is None:
            yield Wrong(path, f"{dotted(path)} is a list, expected {_wanted(shape)}")
        else:
            element = schema.resolve(shape.list.element)
            for i, item in enumerate(value):
                yield from _wrong(schema, element, item, (*path, i))
    elif not _fits(shape, value):
        hint = f'write "{value}"' if shape.scalar == "string" and not isinstance(value, bool) else ""
        yield Wrong(path, f"{dotted(path)} is {_found(value)}, expected {_wanted(shape)}", hint)


def _entry(schema: Schema, shape: Shape, key: str, child: Any, path: Path) -> Iterator[Wrong]:
    if shape.map is None:
        return
    ref = shape.map.fields.get(key, shape.map.others)
    if ref is None:
        where = f" in {dotted(path)}" if path else ""
        hint = did_you_mean(key, shape.map.fields) or f"known fields: {', '.join(sorted(shape.map.fields))}"
        yield Wrong((*path, key), f'unknown field "{key}"{where}', hint, unknown=True)
    else:
        yield from _wrong(schema, schema.resolve(ref), child, (*path, key))


def _fits(shape: Shape, value: Any) -> bool:
    if shape.scalar in ("", "untyped"):
        return bool(shape.scalar)
    if isinstance(value, bool):
        return shape.scalar == "boolean"
    if shape.scalar == "integer" and isinstance(value, float):
        return value.is_integer()  # kubectl sends 64.0 as 64
    wanted: tuple[type, ...] = {"string": (str,), "integer": (int,), "number": (int, float)}.get(shape.scalar, ())
    return isinstance(value, wanted)


def _wanted(shape: Shape) -> str:
    if shape.map is not None:
        return _TYPES["object"]
    if shape.list is not None:
        return _TYPES["array"]
    return _TYPES.get(shape.scalar, "a number")


def _found(value: Any) -> str:
    if isinstance(value, bool):
        return f"{str(value).lower()} without quotes"
    return "a string" if isinstance(value, str) else f"the number {value}"


def _checked(context: LintContext) -> Iterator[tuple[Subject, Wrong]]:
    schemas = {gvk: schema_for(context, gvk) for gvk in {subject.gvk for subject in context.subjects}}
    for subject in context.subjects:
        schema = schemas[subject.gvk]
        if schema is not None:
            for wrong in wrongs(schema, subject.value):
                if subject.gvk.kind != "QueuePolicy" or wrong.path[:1] != ("spec",):  # RUL001 and RUL002 say it
                    yield subject, wrong


@rule("SCH001", Severity.ERROR, "a field must exist in its kind")
def unknown_field(context: LintContext) -> Iterator[Finding]:
    """The kind has no such field. `kubectl apply` rejects it, other clients drop it silently: a limit at the wrong
    level is then no limit. Fields are those of Kubernetes 1.36, of the queue's kinds, and of the
    CustomResourceDefinitions in the files.
    """
    for subject, wrong in _checked(context):
        if wrong.unknown:
            yield subject.finding(wrong.path, wrong.message, wrong.hint, key=True)


@rule("SCH002", Severity.ERROR, "a field must have a value of its type")
def wrong_type(context: LintContext) -> Iterator[Finding]:
    """The value has the wrong type. Labels, annotations, environment variables and node selectors are strings: `true`,
    `1` and `1.10` need quotes there.
    """
    for subject, wrong in _checked(context):
        if not wrong.unknown:
            yield subject.finding(wrong.path, wrong.message, wrong.hint and _in_quotes(subject, wrong))
    for subject, schema in _described(context):
        yield from (subject.finding(path, told) for path, told in _nulls(schema, subject.value, ()))
    for subject in context.subjects:
        value = subject.at("kind")
        if "apiVersion" in subject.value and value is not None and not isinstance(value, str):
            found = "a map" if isinstance(value, dict) else "a list" if isinstance(value, list) else _found(value)
            yield subject.finding(("kind",), f"kind is {found}, expected a string")


def _in_quotes(subject: Subject, wrong: Wrong) -> str:
    """Write a number as it stands in the file: of `1.10` and `12e4` the digits are what was meant, not the value."""
    document = subject.document
    node = document.nodes.get((*subject.root, *wrong.path))
    if node is None or node.style or node.line != node.end_line:
        return wrong.hint
    return f'write "{document.lines[node.line - 1][node.column - 1 : node.end_column - 1]}"'


@rule("SCH004", Severity.ERROR, "a field must have one of its listed values")
def unknown_value(context: LintContext) -> Iterator[Finding]:
    """The field accepts listed values only, and this is not one of them: the API server rejects the object. The values
    are those of the queue's kinds, and of the CustomResourceDefinitions in the files. They are case-sensitive.
    """
    for subject, schema in _described(context):
        yield from _values(subject, schema, ())


def _described(context: LintContext) -> Iterator[tuple[Subject, Any]]:
    """Yield the objects of which a CRD is known, with the schema of their version."""
    crds = {**_own(), **_among(context)}
    for subject in context.subjects:
        crd = crds.get((subject.gvk.group, subject.gvk.kind))
        for version in _versions(crd) if crd is not None else ():
            if version.get("name") == subject.gvk.version:
                schema = version.get("schema")
                yield subject, schema.get("openAPIV3Schema") if isinstance(schema, dict) else None


def missing_fields(context: LintContext) -> Iterator[Finding]:
    """Find the required fields that are not there; no rule of its own, as a file may be a part of an object."""
    for subject, schema in _described(context):
        yield from (subject.finding(path, told, key=True) for path, told in _missing(schema, subject.value, ()))


def _missing(schema: Any, value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(schema, dict) and isinstance(value, dict | list):
        required = schema.get("required")
        if isinstance(value, dict) and isinstance(required, list):
            where = dotted(path) or "the object"
            yield from ((path, f"{where} has no {name}") for name in required if name not in value)
        for step, inner, child in _children(schema, value):
            yield from _missing(inner, child, (*path, step))


def _nulls(schema: Any, value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the items of lists and the required fields that are null, which the API server takes for missing."""
    if not isinstance(schema, dict) or not isinstance(value, dict | list):
        return
    required = schema.get("required")
    for step, inner, child in _children(schema, value):
        needed = isinstance(value, list) or (isinstance(required, list) and step in required)
        if child is None and needed and isinstance(inner, dict) and not inner.get("nullable"):
            wanted = _TYPES.get(str(inner.get("type")), "a value")
            yield (*path, step), f"{dotted((*path, step))} is null, expected {wanted}"
        yield from _nulls(inner, child, (*path, step))


def _children(schema: dict[str, Any], value: dict[str, Any] | list[Any]) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield the step to each part of a value, with the schema of the part and the part."""
    if isinstance(value, list):
        yield from ((i, schema.get("items"), child) for i, child in enumerate(value))
        return
    fields = schema.get("properties")
    for key, child in value.items():
        known = fields.get(key) if isinstance(fields, dict) else None
        yield key, known if known is not None else schema.get("additionalProperties"), child


def _versions(crd: dict[str, Any]) -> list[dict[str, Any]]:
    spec = crd.get("spec")
    found = spec.get("versions") if isinstance(spec, dict) else None
    return [version for version in found if isinstance(version, dict)] if isinstance(found, list) else []


def _values(subject: Subject, schema: Any, path: Path) -> Iterator[Finding]:
    """Walk an object beside its schema, down to the fields that have a list of values."""
    value = subject.at(*path) if path else subject.value
    if not isinstance(schema, dict):
        return
    allowed = schema.get("enum")
    if isinstance(allowed, list) and isinstance(value, str) and value not in allowed:
        words = [word for word in allowed if isinstance(word, str)]
        near = next((f'write "{word}"' for word in words if word.lower() == value.lower()), did_you_mean(value, words))
        yield subject.finding(path, f'invalid value "{value}" for {dotted(path)}', near or f"one of {', '.join(words)}")
    elif isinstance(value, dict):
        fields, others = schema.get("properties"), schema.get("additionalProperties")
        for key in value:
            known = fields.get(key) if isinstance(fields, dict) else None
            yield from _values(subject, known if known is not None else others, (*path, key))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from _values(subject, schema.get("items"), (*path, i))


@rule("SCH003", Severity.ERROR, "a kind must be served")
def not_served(context: LintContext) -> Iterator[Finding]:
    """Kubernetes 1.36 does not serve this kind in this version: applying it fails with "no matches for kind". The same
    holds for the kinds of the queue, and for versions of policies before `v1`.
    """
    for subject in context.subjects:
        gvk = subject.gvk
        if not isinstance(subject.at("kind"), str) or not isinstance(subject.at("apiVersion"), str):
            continue
        if (crd := _own().get((gvk.group, gvk.kind))) is not None:
            yield from _own_not_served(subject, crd)
        if gvk.group not in _SERVED or not gvk.kind or gvk.kind.endswith("List") or is_built_in(gvk):
            continue
        group = "networking.k8s.io" if gvk.group == "extensions" and gvk.kind == "Ingress" else gvk.group
        group = "apps" if gvk.group == "extensions" and gvk.kind != "Ingress" else group
        others = [GroupVersionKind(group, version, gvk.kind) for version in _VERSIONS]
        served = next((other for other in others if is_built_in(other)), None)
        near = did_you_mean(gvk.kind, {k.kind for k in built_in_kinds() if k.group == group} - {gvk.kind})
        hint = f"write apiVersion: {served.api_version}" if served else near or "the kind was removed"
        where = "apiVersion" if served or not near else "kind"
        yield subject.finding((where,), f"{gvk} is not served by Kubernetes 1.36", hint)
    yield from _policies_not_served(context)
    yield from _params_not_served(context)


def _own_not_served(subject: Subject, crd: dict[str, Any]) -> Iterator[Finding]:
    """Yield versions of the queue's kinds that are not known; a v1alpha1 of Kueue is read for its Cohorts."""
    served = [str(version["name"]) for version in _versions(crd)]
    if subject.gvk.version not in (*served, "v1alpha1") and subject.gvk.group != SLUICE:
        hint = f"write apiVersion: {subject.gvk.group}/{served[0]}"
        yield subject.finding(("apiVersion",), f"{subject.gvk} is not known", hint)


def _policies_not_served(context: LintContext) -> Iterator[Finding]:
    """Yield the early versions of policies and bindings, which Sluice reads and an API server does not serve."""
    for subject in context.of(GROUP, *SHAPES):
        if subject.gvk.version in VERSIONS - {"v1"}:
            message = f"{subject.gvk} is not served by Kubernetes 1.36"
            edit = subject.edit(("apiVersion",), f"{GROUP}/v1")
            finding = subject.finding(("apiVersion",), message, f"write apiVersion: {GROUP}/v1")
            yield replace(finding, edit=edit)


def _params_not_served(context: LintContext) -> Iterator[Finding]:
    """Yield a paramKind of a built-in group that is no kind there."""
    for policy in policies(context):
        gvk = gvk_of(policy.map("spec", "paramKind"))
        named = policy.text("spec", "paramKind", "kind")
        if not named or gvk.group not in _SERVED or is_built_in(gvk):
            continue
        kinds = [other for other in built_in_kinds() if other.group == gvk.group]
        near = did_you_mean(gvk.kind, {other.kind for other in kinds})
        served = [other.api_version for other in kinds if other.kind == gvk.kind]
        hint = f"write apiVersion: {served[0]}" if served else near
        yield policy.finding(("spec", "paramKind", "kind"), f"{gvk} is not served by Kubernetes 1.36", hint)


RULES: Final[tuple[LintRule, ...]] = (unknown_field, wrong_type, unknown_value, not_served)
