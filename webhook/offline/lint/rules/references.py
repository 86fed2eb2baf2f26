"""Rules for references between policies, bindings, params and exceptions: names of objects that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from webhook.api.scopes import Scopes
from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.kube.gvk import gvk_of, split_api_version
from webhook.kube.well_known import SLUICE
from webhook.offline.files import objects_of, read_files
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import BINDINGS, bindings, bindings_of, expressions, policies, selects
from webhook.policy.loading.policy_kinds import BINDING, EXCEPTION, GROUP, SHAPES, VALIDATING, WARNING
from webhook.policy.loading.shipped import located, references

_PARAMS: Final = re.compile(r"(?<![\w.'\"])params\b(?!['\"])")
"""`params` itself: no field (`variables.params`) and no key of a map of that name."""


@rule("REF001", Severity.ERROR, "a policy must have a binding")
def unbound(context: LintContext) -> Iterator[Finding]:
    """A policy without a binding is stored but never evaluated. For policies whose bindings are written elsewhere, use
    `sluice lint --library`: it reports their number in one line.
    """
    for policy in policies(context):
        if policy.name and not bindings_of(context, policy):
            wanted = policy.gvk.kind + BINDING
            named = {b.text("spec", "policyName") for b in context.of(GROUP, wanted)} - {"", policy.name}
            other = next((b for b in bindings(context) if b.text("spec", "policyName") == policy.name), None)
            near = did_you_mean(policy.name, named - context.names(GROUP, policy.gvk.kind))
            hint = f"a binding names {near[13:-1]}" if near else f"add a {wanted}"
            if other is not None:
                hint = f"{other} is for the other kind; use kind: {wanted}"
            yield policy.finding(("metadata", "name"), f"{policy} has no binding, so it is never evaluated", hint)


@rule("REF002", Severity.ERROR, "a binding must reference an existing policy")
def dangling(context: LintContext) -> Iterator[Finding]:
    """A binding to a missing policy does nothing. A binding only works for a policy of its own kind:
    ValidatingAdmissionPolicyBinding for ValidatingAdmissionPolicy.
    """
    for binding in bindings(context):
        kind = binding.gvk.kind.removesuffix(BINDING)
        name, known = binding.text("spec", "policyName"), context.names(GROUP, kind)
        if not name or name in known:
            continue
        others = {p.name for p in policies(context)}
        hint = did_you_mean(name, known) or f'add a {kind} "{name}"'
        if name in others:
            other = next(p.gvk.kind for p in policies(context) if p.name == name)
            hint = f'"{name}" is a {other}; use a {other}{BINDING}'
        elif misspelt := [s.gvk.kind for s in context.subjects if s.name == name and _nearly(s.gvk.kind, kind)]:
            hint = f'"{name}" has the kind {misspelt[0]}: write {kind}'
        yield binding.finding(("spec", "policyName"), f'no {kind} "{name}" is in these files', hint)


def _nearly(word: str, kind: str) -> bool:
    return word not in SHAPES and bool(did_you_mean(word, {kind}))


def _kind_of_params(context: LintContext, binding: Subject) -> tuple[str, str] | None:
    """Return group and kind of the params that the policy of a binding asks for."""
    kind = binding.gvk.kind.removesuffix(BINDING)
    for policy in context.of(GROUP, kind):
        if policy.name == binding.text("spec", "policyName"):
            wanted = policy.map("spec", "paramKind")
            if isinstance(wanted.get("kind"), str):
                return split_api_version(str(wanted.get("apiVersion") or ""))[0], wanted["kind"]
    return None


@rule("REF003", Severity.ERROR, "params must exist")
def params_missing(context: LintContext) -> Iterator[Finding]:
    """If `paramRef` finds nothing, `parameterNotFoundAction` decides: Deny denies every matching request, Allow allows
    every one unchecked. Without `namespace`, params of a namespaced kind are looked up in the namespace of the
    request, so at least one such object must be in the files. Reported under Deny, and under Allow if another name
    is close enough to be a typo.
    """
    for binding in bindings(context):
        wanted = _kind_of_params(context, binding)
        ref = binding.map("spec", "paramRef")
        name = ref.get("name")
        if wanted is None or not isinstance(name, str) or not name:
            if wanted is not None and isinstance(ref.get("selector"), dict):
                yield from _selects_nothing(context, binding, wanted)
            continue
        namespace = ref.get("namespace") if isinstance(ref.get("namespace"), str) else None
        known = context.names(*wanted, namespace)
        near = did_you_mean(name, known)
        if name not in known and (near or ref.get("parameterNotFoundAction") == "Deny"):
            where = f' in namespace "{namespace}"' if namespace else ""
            message = f'no {wanted[1]} "{name}"{where} is in these files'
            hint = near or f'add a {wanted[1]} "{name}"'
            yield binding.finding(("spec", "paramRef", "name"), message, hint)


def _selects_nothing(context: LintContext, binding: Subject, wanted: tuple[str, str]) -> Iterator[Finding]:
    """Yield a selector under Deny that no params among the files have the labels for."""
    path: Path = ("spec", "paramRef", "selector")
    namespace = binding.at("spec", "paramRef", "namespace")
    there = [s for s in context.of(*wanted) if namespace is None or s.namespace == namespace]
    denies = binding.at("spec", "paramRef", "parameterNotFoundAction") == "Deny"
    if denies and there and not any(selects(binding, path, _labels(s)) for s in there):
        hint = f"add a {wanted[1]} with these labels"
        yield binding.finding(path, f"this selects no {wanted[1]} in these files", hint, key=True)


def _labels(subject: Subject) -> dict[str, str]:
    return {key: str(value) for key, value in subject.map("metadata", "labels").items()}


@rule("REF004", Severity.ERROR, "paramKind and paramRef must be set together")
def half_params(context: LintContext) -> Iterator[Finding]:
    """`paramKind` of a policy sets the kind of `params`; `paramRef` of a binding selects the object. With only one of
    the two, `params` is null: an expression that reads it fails, and failurePolicy decides.
    """
    scopes = Scopes.of(crd.value for crd in context.of("apiextensions.k8s.io", "CustomResourceDefinition"))
    for policy in policies(context):
        has_kind = bool(policy.map("spec", "paramKind"))
        cluster = scopes.clustered(gvk_of(policy.map("spec", "paramKind")))
        reads = [(e, read.start()) for e in expressions(policy) if (read := _PARAMS.search(e.text))]
        if reads and not has_kind:
            expression, found = reads[0]
            hint = "add spec.paramKind, and paramRef to the binding"
            yield policy.finding(expression.path, "params is used, but paramKind is not set", hint, span=(found, 6))
        for binding in bindings_of(context, policy):
            has_ref = bool(binding.map("spec", "paramRef"))
            if has_kind and not has_ref:
                message = f"{policy} has a paramKind, but its binding has no paramRef: params is null"
                yield binding.finding(("spec",), message, "add spec.paramRef with a name or a selector", key=True)
            elif has_ref and cluster and binding.at("spec", "paramRef", "namespace") is not None:
                message = f"{policy.text('spec', 'paramKind', 'kind')} is cluster-scoped, so nothing is found"
                yield binding.finding(("spec", "paramRef", "namespace"), message, "remove the namespace", key=True)
            elif has_ref and not has_kind:
                message = f"the binding sets paramRef, but {policy} has no paramKind"
                yield binding.finding(("spec", "paramRef"), message, "add spec.paramKind to the policy", key=True)


@rule("REF005", Severity.ERROR, "validationActions must not conflict")
def actions(context: LintContext) -> Iterator[Finding]:
    """`validationActions` lists Deny, Warn and Audit, each at most once. The API server rejects Deny together with
    Warn: the warning would only repeat the denial.
    """
    for binding in context.of(GROUP, VALIDATING + BINDING):
        found = binding.strings("spec", "validationActions")
        path: Path = ("spec", "validationActions")
        if {"Deny", "Warn"} <= set(found):
            yield binding.finding(
                path, "Deny and Warn cannot be combined", "keep Deny, or keep Warn while testing the policy"
            )
        for i, action in enumerate(found):
            if action in found[:i]:
                yield binding.finding((*path, i), f"{action} is listed twice", "remove one")


@rule("REF006", Severity.NOTE, "a variable must be used")
def unused_variable(context: LintContext) -> Iterator[Finding]:
    """A variable that no expression uses is never computed. Often the expression misspells its name."""
    for policy in policies(context):
        texts = [e.text for e in expressions(policy)]
        texts.append(policy.text("metadata", "annotations", WARNING) or "")
        for path, variable in policy.each("spec", "variables"):
            name = variable.get("name")
            if isinstance(name, str) and not any(f"variables.{name}" in text for text in texts):
                yield policy.finding((*path, "name"), f'variable "{name}" is never used', "remove it")


@rule("REF007", Severity.ERROR, "an exception must reference existing policies")
def exception_to_nothing(context: LintContext) -> Iterator[Finding]:
    """A PolicyException exempts some requests from named policies. A name that no policy has exempts nothing, and the
    request is denied. Policies that come with Sluice need not be among the files.
    """
    known = {p.name for p in policies(context)}
    for subject in context.of(SLUICE, EXCEPTION):
        for i, name in enumerate(subject.strings("spec", "policyNames")):
            if name not in known and name not in _shipped():
                hint = did_you_mean(name, known | _shipped()) or f'add the policy "{name}" to these files'
                yield subject.finding(("spec", "policyNames", i), f'no policy "{name}" is in these files', hint)


@cache
def _shipped() -> frozenset[str]:
    """Return the names of all policies that come with Sluice; `.sluice.yaml` puts them in force, no file does."""
    found = read_files([located(reference) / "policy.yaml" for reference in references()])
    return frozenset(obj["metadata"]["name"] for obj in objects_of(found.documents) if obj["kind"] in SHAPES)


@rule("REF008", Severity.ERROR, "paramRef must set either name or selector")
def params_by_both(context: LintContext) -> Iterator[Finding]:
    """Set exactly one of `name` and `selector`, and `parameterNotFoundAction` to Allow or Deny."""
    for binding in context.of(GROUP, *BINDINGS):
        ref = binding.map("spec", "paramRef")
        path: Path = ("spec", "paramRef")
        if not ref:
            continue
        if ("name" in ref) == ("selector" in ref):
            message = "paramRef needs a name or a selector" + (", not both" if "name" in ref else "")
            yield binding.finding(path, message, key=True)
        if "parameterNotFoundAction" not in ref:
            message = "paramRef does not set parameterNotFoundAction"
            yield binding.finding(path, message, "add parameterNotFoundAction: Deny (or Allow)", key=True)


RULES: Final[tuple[LintRule, ...]] = (
    unbound,
    dangling,
    params_missing,
    half_params,
    actions,
    unused_variable,
    exception_to_nothing,
    params_by_both,
)
