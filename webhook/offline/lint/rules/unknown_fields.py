"""Rules for expressions: fields that the matched kinds do not have, and values that a field of them never has.

Expressions are checked against built-in schemas and those of the CRDs in the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final

from webhook.cel.check.known_fields import FieldShape, ForeignWord, Misspelt, Scope, TypesFound, check_types
from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.kube.gvk import POD, GroupVersionKind, gvk_of
from webhook.kube.schema import UNTYPED, Ref, Schema, from_crd
from webhook.kube.schemas import built_in_kinds, find, schema_of
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import PolicyExpression, expressions, match_rules, policies, words
from webhook.policy.loading.policy_kinds import EXPAND

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_VOWELS: Final = "aeiou"
_MOST_WORDS: Final = 12
MisspeltField = tuple[Subject, PolicyExpression, Misspelt]
WrongWord = tuple[Subject, PolicyExpression, ForeignWord]


def plural(kind: str) -> str:
    """Return the resource that a built-in kind is served under."""
    word = kind.lower()
    if word.endswith("endpoints"):
        return word
    if word.endswith(("s", "x", "ch")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in _VOWELS else word + "s"


@cache
def _built_in() -> dict[tuple[str, str], tuple[GroupVersionKind, ...]]:
    """The built-in kinds by group and resource."""
    found: dict[tuple[str, str], tuple[GroupVersionKind, ...]] = {}
    for gvk in built_in_kinds():
        key = (gvk.group, plural(gvk.kind))
        found[key] = (*found.get(key, ()), gvk)
    return found


class _Kinds:
    """The schemas of all kinds that are known here: Kubernetes' own, and those of the CRDs among the files."""

    def __init__(self, context: LintContext) -> None:
        self.custom: dict[tuple[str, str], list[tuple[GroupVersionKind, Schema]]] = {}
        for crd in context.of("apiextensions.k8s.io", "CustomResourceDefinition"):
            self._add(crd)

    def _add(self, crd: Subject) -> None:
        group, kind = crd.text("spec", "group"), crd.text("spec", "names", "kind")
        for _, version in crd.each("spec", "versions"):
            name = version.get("name")
            try:
                schema = from_crd(crd.value, name) if isinstance(name, str) else UNTYPED
            except (AttributeError, KeyError, TypeError, ValueError):
                continue  # other rules tell what is wrong with it
            if schema is not UNTYPED and isinstance(name, str):
                entry = (GroupVersionKind(group, name, kind), _whole(schema))
                self.custom.setdefault((group, crd.text("spec", "names", "plural")), []).append(entry)

    def of(self, group: str, resource: str, versions: list[str]) -> list[FieldShape] | None:
        """Return the kinds of a resource, None where one of them is not known."""
        named = [(gvk, schema_of(gvk)) for gvk in _built_in().get((group, resource), ())]
        named += self.custom.get((group, resource), [])
        chosen = [s for gvk, s in named if "*" in versions or gvk.version in versions]
        return [FieldShape(schema, schema.root) for schema in chosen] or None

    def kind(self, gvk: GroupVersionKind) -> FieldShape | None:
        """Return one kind, None where it is not known."""
        schema = schema_of(gvk)
        if schema is UNTYPED:
            named = (entry for entries in self.custom.values() for entry in entries)
            schema = next((s for other, s in named if other == gvk), UNTYPED)
        return None if schema is UNTYPED else FieldShape(schema, schema.root)


def _whole(schema: Schema) -> Schema:
    """The schema of a custom kind with the metadata that all objects have."""
    shape = schema.resolve(schema.root)
    if shape.map is None:
        return schema
    fields = {**shape.map.fields, "metadata": Ref(_METADATA)}
    return Schema(Ref(inline=replace(shape, map=replace(shape.map, fields=fields))), find)


def _matched(policy: Subject, kinds: _Kinds) -> list[FieldShape | None]:
    """Return what `object` can be; a None among them is a kind that nobody described."""
    annotations = policy.map("metadata", "annotations")
    if EXPAND in annotations:
        return [kinds.kind(POD)]
    found: list[FieldShape | None] = []
    for _, entry in match_rules(policy):
        for group in words(entry, "apiGroups"):
            for resource in words(entry, "resources"):
                name, _, part = resource.partition("/")
                known = kinds.of(group, name, words(entry, "apiVersions")) if part in ("", "status") else None
                found += known or [None]
    return found or [None]


def _scopes(policy: Subject, kinds: _Kinds) -> list[dict[str, Any]]:
    params = policy.map("spec", "paramKind")
    known = kinds.kind(gvk_of(params)) if params else None
    matched: list[FieldShape | None] = []
    for one in _matched(policy, kinds):
        if one not in matched:
            matched.append(one)
    return [{"object": one, "oldObject": one, "params": known} for one in matched]


@rule("CEL018", Severity.ERROR, "expressions must use fields of the matched kinds")
def unknown_fields(context: LintContext) -> Iterator[Finding]:
    """The expression reads a field that none of the matched kinds has: the read fails, or `has` is always false. Or a
    mutation sets it in `Object{...}`, and the API server rejects or drops it. The kinds are those of `matchConstraints`
    and `paramKind` that are built into Kubernetes or have a CustomResourceDefinition in the files; with
    `sluice.dev/expand` the object is a Pod. Fields of maps and of unknown kinds are not checked.
    A field that is only tested with `has` or `?.` gives a warning: it may exist in another version.
    """
    for policy, expression, wrong in misspelt(context):
        finding = policy.finding(
            expression.path,
            f'no matched kind has the field "{wrong.name}" here',
            _hint(wrong),
            span=(wrong.offset, len(wrong.name)),
        )
        yield replace(finding, severity=Severity.WARNING) if wrong.asked else finding


def misspelt(context: LintContext) -> list[MisspeltField]:
    """Return the fields that no matched kind has; found out once."""
    return _types(context)[0]


@rule("CEL023", Severity.WARNING, "a compared value must be one that the field can have")
def foreign_words(context: LintContext) -> Iterator[Finding]:
    """The expression compares a field with a value that it never has, such as `object.spec.type == "Loadbalancer"` or
    `container.imagePullPolicy == "always"`: the comparison never holds. Or a mutation sets it, and the API server
    rejects the object. The values are those of the API server's own schemas at 1.36, and the `enum` of the CRDs in the
    files. A newer API server may have more.
    """
    for policy, expression, wrong in _types(context)[1]:
        message = f'invalid value "{wrong.word}" for this field'
        known = wrong.known if len(wrong.known) <= _MOST_WORDS else (*wrong.known[:_MOST_WORDS], "...")
        hint = _cased(wrong) or did_you_mean(wrong.word, wrong.known) or f"known values: {', '.join(known)}"
        yield policy.finding(expression.path, message, hint, span=(wrong.offset, len(wrong.word) + 2))


def _cased(wrong: ForeignWord) -> str:
    found = [word for word in wrong.known if word.lower() == wrong.word.lower()]
    return f'did you mean "{found[0]}"?' if found else ""


def _types(context: LintContext) -> tuple[list[MisspeltField], list[WrongWord]]:
    """Return what both rules tell, found out once: places, and what is wrong there."""
    if "types" not in context.memo:
        kinds = _Kinds(context)
        rows = [_of(policy, _scopes(policy, kinds)) for policy in policies(context)]
        context.memo["types"] = ([m for row in rows for m in row[0]], [w for row in rows for w in row[1]])
    found: tuple[list[MisspeltField], list[WrongWord]] = context.memo["types"]
    return found


def known_at(context: LintContext, policy: Subject, path: Path) -> tuple[Scope, ...]:
    """Return what the variables of the expression at a path can be, for each kind that the policy matches."""
    scopes = _scopes(policy, _Kinds(context))
    for expression in expressions(policy):
        if expression.path == path:
            break
        if expression.role == "variables":
            _declare(policy, expression, scopes, check_types(expression.text, list[Scope](scopes)))
    return tuple(scopes)


def _of(policy: Subject, scopes: list[dict[str, Any]]) -> tuple[list[MisspeltField], list[WrongWord]]:
    rows: list[MisspeltField] = []
    words: list[WrongWord] = []
    for expression in expressions(policy):
        types = check_types(expression.text, list[Scope](scopes))
        if expression.role == "variables":
            _declare(policy, expression, scopes, types)
        rows += [(policy, expression, wrong) for wrong in types.missing]
        words += [(policy, expression, wrong) for wrong in types.words]
    asked = {wrong.name for _, _, wrong in rows if wrong.asked}
    return [(policy, at, replace(wrong, asked=wrong.name in asked)) for policy, at, wrong in rows], words


def _declare(policy: Subject, expression: PolicyExpression, scopes: list[dict[str, Any]], types: TypesFound) -> None:
    name = policy.at(*expression.path[:-1], "name")
    for scope, value in zip(scopes, types.made, strict=True):
        scope[f"variables.{name}"] = value


def _hint(wrong: Misspelt) -> str:
    return did_you_mean(wrong.name, wrong.known) or f"known fields: {', '.join(sorted(wrong.known)[:12])}"


RULES: Final[tuple[LintRule, ...]] = (unknown_fields, foreign_words)
