"""Generates native policies of the API server from Sluice's, so that a cluster stays protected without the webhook.

A policy for Pods that Sluice expands into job kinds becomes one policy per kind; a mutation only for kinds with one pod
template. What has no native form is left out and reported. Nothing is loaded or written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel.errors import CelError, CompileError
from webhook.cel.syntax.nodes import walk
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.jobs.job import JobKind
from webhook.jobs.kinds import BY_KIND, BY_RESOURCE, KINDS
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.offline.lint.rules.mutations import typed_list_value
from webhook.offline.lint.trial.engine import wrong_with
from webhook.offline.native_policies.expressions import Templates, as_pods, reads_all_of, templates_of
from webhook.offline.native_policies.mutations import for_template
from webhook.offline.native_policies.parameters import parameters
from webhook.offline.native_policies.pod_templates import NotPortable, of_many, of_one, texts_of
from webhook.policy.bundle import Bundle
from webhook.policy.loading.policy_kinds import EXPAND, MODE, SETTINGS, SKIP, WARNING
from webhook.policy.match_resources import ResourceOperation, ResourceRule
from webhook.policy.model import Policy

SUFFIX: Final = "native"
OWNERS: Final = (
    "the native API server cannot look up an owner by its UID: leave it to `sluice serve`, or copy it without its "
    "annotation sluice.dev/skip and with the match condition !has(object.metadata.ownerReferences), which leaves "
    "all that has an owner as it is"
)
_POD: Final = BY_KIND["", "Pod"]
_OWN: Final = frozenset({EXPAND, MODE, SETTINGS, SKIP, WARNING})
_BUILT_IN: Final = frozenset({"", "batch", "apps"})
"""Groups of job kinds whose lists the API server merges by name, as it does those of a Pod."""
LABEL: Final = "sluice.dev/native-twin-of"
_SYSTEM: Final = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": ["kube-system", "sluice-system"]}


@dataclass(frozen=True, slots=True)
class NativePolicies:
    """The objects to apply, parameters first, and (policy or kind, reason) of what was left out."""

    objects: tuple[dict[str, Any], ...]
    left_out: tuple[tuple[str, str], ...]


def native_policies(bundle: Bundle, bindings: Iterable[dict[str, Any]], now: float = 0.0) -> NativePolicies:
    """Return a bundle's policies in their native form; `bindings` are the binding objects of its files.

    `now` is the time in seconds: exceptions that have expired exempt nothing.
    """
    objects: list[dict[str, Any]] = []
    left_out: list[tuple[str, str]] = []
    known, exempted = list(bindings), _exempted(bundle, now)
    for policy in bundle.policies:
        if policy.document is None or not policy.bindings:
            continue
        try:
            _refuse(policy, exempted)
        except NotPortable as error:
            left_out.append((policy.name, str(error)))
            continue
        for title, kind in _forms(policy):
            try:
                native = _native(policy, _without_kinds(policy), "") if kind is None else _for_kind(policy, kind)
                _compiles(native)
            except NotPortable as error:
                left_out.append((title, str(error)))
            else:
                found = list(_bound(policy, native, known, kind))
                objects += [native, *found] if found else []
    return NativePolicies((*parameters(bundle.objects, objects), *objects), tuple(left_out))


def _exempted(bundle: Bundle, now: float) -> dict[str, str]:
    """Return an exception that is in force for each policy that has one."""
    return {name: e.name for e in bundle.exceptions if e.enabled and now < e.expires for name in e.policies}


def _refuse(policy: Policy, exempted: Mapping[str, str]) -> None:
    """Raise NotPortable for what only Sluice can do."""
    if policy.name in exempted:
        raise NotPortable(f"PolicyException {exempted[policy.name]} exempts objects from it until a date")
    if policy.mutating and policy.skip_owned:
        raise NotPortable(OWNERS)
    if policy.mode != "enforce":
        raise NotPortable(f"mode {policy.mode} exists in Sluice only")
    for mutation in policy.mutations:
        if not mutation.apply and any(typed_list_value(n) for n in walk(mutation.expression.program.checked.root)):
            raise NotPortable("the native API server would crash on it (MUT001)")


def _forms(policy: Policy) -> Iterator[tuple[str, JobKind | None]]:
    """Yield the policy itself, and where it is expanded each job kind with pod templates that it is for."""
    if not policy.expand or _about_others(policy):
        yield policy.name, None
    for kind in KINDS if policy.expand else ():
        plain = all(template.made is None and template.path for template in kind.templates)
        if kind.templates and plain and _is_for(policy, kind):
            yield f"{policy.name} for {kind.resource}.{kind.group}", kind


def _is_for(policy: Policy, kind: JobKind) -> bool:
    """Return whether a rule is for Pods, and so for the templates of a kind, or for the kind itself."""
    match = policy.spec.get("matchConstraints") or {}
    return bool(_for_templates(match, kind).get("resourceRules"))


def _about_others(policy: Policy) -> bool:
    """Return whether a rule may be for anything but job kinds, which have forms of their own."""
    named = [(group, name) for rule in policy.match.rules for group in rule.groups for name, _ in rule.resources]
    return any(one == ("", "pods") or one not in BY_RESOURCE for one in named)


def _without_kinds(policy: Policy) -> dict[str, Any]:
    """Return the spec of a policy itself; an expanded one leaves out the job kinds that its rules name beside Pods."""
    match = policy.spec.get("matchConstraints") or {}
    rules = match.get("resourceRules") or ()
    named = [kind for kind in KINDS if kind.kind != "Pod" and any(_takes(rule, kind, match) for rule in rules)]
    if not policy.expand or not named:
        return policy.spec
    excludes = [
        {"apiGroups": [kind.group], "apiVersions": ["*"], "operations": ["*"], "resources": [kind.resource]}
        for kind in named
    ]
    excludes = [*(match.get("excludeResourceRules") or ()), *excludes]
    return {**policy.spec, "matchConstraints": {**match, "excludeResourceRules": excludes}}


def _native(policy: Policy, spec: dict[str, Any], suffix: str) -> dict[str, Any]:
    assert policy.document is not None
    value = policy.document.value
    metadata = value["metadata"]
    kept = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in _OWN}
    name = f"{policy.name}-{suffix}{SUFFIX}" if suffix else f"{policy.name}-{SUFFIX}"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": value["kind"],
        "metadata": {
            "name": name,
            "labels": {**(metadata.get("labels") or {}), LABEL: policy.name},
            **({"annotations": kept} if kept else {}),
        },
        "spec": _leaving_system_out(spec),
    }


def _leaving_system_out(spec: dict[str, Any]) -> dict[str, Any]:
    """Add what Sluice does by itself: kube-system and its own namespace are left out."""
    match = dict(spec.get("matchConstraints") or {})
    selector = dict(match.get("namespaceSelector") or {})
    selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), _SYSTEM]
    return {**spec, "matchConstraints": {**match, "namespaceSelector": selector}}


def _for_kind(policy: Policy, kind: JobKind) -> dict[str, Any]:
    """Write a policy on Pods for the templates of one kind. Raises NotPortable."""
    bound = (binding.match for binding in policy.bindings)
    if any(match is not None and match.object_selector is not None for match in (policy.match, *bound)):
        raise NotPortable("objectSelector is about the labels of pod templates")
    spec = dict(policy.spec)
    spec["matchConstraints"] = _for_templates(spec.get("matchConstraints") or {}, kind)
    templates = templates_of(kind)
    known = ("spec", "metadata") if kind.group in _BUILT_IN else ("spec",)  # of a custom kind, metadata may be absent
    if any(reads_all_of(text, known) for text in texts_of(spec)):
        templates = as_pods(templates)
    if policy.mutating:
        _mutating(policy, spec, kind, templates)
    elif templates.many:
        of_many(spec, templates)
    else:
        of_one(spec, templates)
    spec.pop("auditAnnotations", None)
    return _native(policy, spec, f"{kind.resource}.{kind.group}-")


def _mutating(policy: Policy, spec: dict[str, Any], kind: JobKind, templates: Templates) -> None:
    """Change the one template instead of a Pod. Raises NotPortable where there are several, or no schema is known."""
    if templates.many:
        raise NotPortable("the kind has several pod templates, and one patch cannot cover them all")
    if kind.group not in _BUILT_IN and any(m.apply for m in policy.mutations):
        raise NotPortable(
            "the lists of a custom kind may be atomic: a fragment would replace its containers, not merge"
        )
    patches = [m["jsonPatch"]["expression"] for m in spec["mutations"] if "jsonPatch" in m]
    if kind.group not in _BUILT_IN and any("/metadata" in text for text in patches):
        raise NotPortable("the templates of a custom kind may have no metadata: a patch below it would fail")
    as_pod = of_one(spec, templates)
    spec["mutations"] = [for_template(m, kind.templates[0].path, as_pod) for m in spec["mutations"]]


def _for_templates(match: Mapping[str, Any], kind: JobKind) -> dict[str, Any]:
    """Return match resources for the templates of a kind: their rules about Pods, and about the kind itself."""
    made = {
        field: [
            {**rule, "apiGroups": [kind.group], "apiVersions": list(kind.versions), "resources": [kind.resource]}
            for rule in match[field]
            if _takes(rule, _POD, match) or _takes(rule, kind, match)
        ]
        for field in ("resourceRules", "excludeResourceRules")
        if field in match
    }
    return {**match, **made}


def _takes(rule: Mapping[str, Any], kind: JobKind, match: Mapping[str, Any]) -> bool:
    """Return whether a rule of match resources is for objects of a kind."""
    read, any_version = ResourceRule.of(rule), match.get("matchPolicy") != "Exact"
    return any(
        read.fits(ResourceOperation(kind.group, version, kind.resource, "", operation), any_version=any_version)
        for version in kind.versions
        for operation in read.operations
    )


def _compiles(native: dict[str, Any]) -> None:
    """Raise NotPortable where the policy that was written does not compile."""
    try:
        wrong = wrong_with(Document(native, "native"))
    except (SourceError, CelError, CompileError) as error:
        raise NotPortable(str(error)) from None
    if wrong:
        raise NotPortable(f"its native form does not compile: {wrong[0].message}")


def _bound(
    policy: Policy, native: dict[str, Any], bindings: Iterable[dict[str, Any]], job: JobKind | None
) -> Iterator[dict[str, Any]]:
    kind = f"{native['kind']}Binding"
    for binding in bindings:
        spec = binding.get("spec") or {}
        if binding.get("kind") == kind and spec.get("policyName") == policy.name:
            if job is not None and (match := spec.get("matchResources")):
                spec = {**spec, "matchResources": _for_templates(match, job)}
                if match.get("resourceRules") and not spec["matchResources"]["resourceRules"]:
                    continue
            name = native["metadata"]["name"]
            suffix = name.removeprefix(policy.name)
            yield {
                "apiVersion": native["apiVersion"],
                "kind": kind,
                "metadata": {"name": f"{binding['metadata']['name']}{suffix}", "labels": {LABEL: policy.name}},
                "spec": {**spec, "policyName": name},
            }
