"""Generates native policies of the API server from Sluice's, so that a cluster stays protected without the webhook.

A policy for Pods that Sluice expands into job kinds becomes one policy per kind; a mutation only for kinds with one pod
template. What has no native form is left out and reported. Nothing is loaded or written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel.errors import CelError, CompileError
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.jobs.job import JobKind
from webhook.jobs.kinds import KINDS
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.offline.lint.reading.expressions import walk
from webhook.offline.lint.rules.mutations import typed_list_value
from webhook.offline.lint.trial.engine import wrong_with
from webhook.offline.native_policies.expressions import Templates, inlined, renamed, templates_of
from webhook.offline.native_policies.mutations import for_template
from webhook.policy.bundle import Bundle
from webhook.policy.loading.policy_kinds import EXPAND, MODE, SETTINGS, SKIP, WARNING
from webhook.policy.model import Policy

SUFFIX: Final = "native"
WHOLE: Final = frozenset(
    {"oldObject == null || object.spec != oldObject.spec", "oldObject == null || object != oldObject"}
)
"""Conditions that mean the same, or more, when they are asked of the whole object instead of a template."""
_OWN: Final = frozenset({EXPAND, MODE, SETTINGS, SKIP, WARNING})
_BUILT_IN: Final = frozenset({"", "batch", "apps"})
"""Groups of job kinds whose lists the API server merges by name, as it does those of a Pod."""
LABEL: Final = "sluice.dev/native-twin-of"
_SYSTEM: Final = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": ["kube-system", "sluice-system"]}


@dataclass(frozen=True, slots=True)
class NativePolicies:
    """The objects to apply, and (policy or kind, reason) of what was left out."""

    objects: tuple[dict[str, Any], ...]
    left_out: tuple[tuple[str, str], ...]


class NotPortable(Exception):
    """A policy, or one of its kinds, has no native form; the text says why."""


def native_policies(bundle: Bundle, bindings: Iterable[dict[str, Any]]) -> NativePolicies:
    """Return a bundle's policies in their native form; `bindings` are the binding objects of its files."""
    objects: list[dict[str, Any]] = []
    left_out: list[tuple[str, str]] = []
    known = list(bindings)
    for policy in bundle.policies:
        if policy.document is None or not policy.bindings:
            continue
        try:
            _refuse(policy)
        except NotPortable as error:
            left_out.append((policy.name, str(error)))
            continue
        for title, make in _forms(policy):
            try:
                native = make()
                _compiles(native)
            except NotPortable as error:
                left_out.append((title, str(error)))
            else:
                objects += [native, *_bound(policy, native, known)]
    return NativePolicies(tuple(objects), tuple(left_out))


def _refuse(policy: Policy) -> None:
    """Raise NotPortable for what only Sluice can do."""
    if policy.mutating and policy.skip_owned:
        raise NotPortable("the native API server cannot look up an owner by its UID")
    if policy.mode != "enforce":
        raise NotPortable(f"mode {policy.mode} exists in Sluice only")
    for mutation in policy.mutations:
        if not mutation.apply and any(typed_list_value(n) for n in walk(mutation.expression.program.checked.root)):
            raise NotPortable("the native API server would crash on it (MUT001)")


def _forms(policy: Policy) -> Iterator[tuple[str, Any]]:
    """Yield the policy itself, and where it is expanded a form for each job kind with pod templates."""
    yield policy.name, lambda: _native(policy, policy.spec, "")
    if not policy.expand:
        return
    for kind in KINDS:
        plain = all(template.made is None and template.path for template in kind.templates)
        if kind.templates and plain:
            name = f"{kind.resource}.{kind.group}"
            yield f"{policy.name} for {name}", lambda kind=kind: _for_kind(policy, kind)


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
    spec = dict(policy.spec)
    rules = [_rule(rule, kind) for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ()]
    spec["matchConstraints"] = {**(spec.get("matchConstraints") or {}), "resourceRules": rules}
    templates = templates_of(kind)
    if policy.mutating:
        _mutating(policy, spec, kind, templates)
    elif templates.many:
        _of_many(spec, templates)
    else:
        _of_one(spec, templates)
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
    _of_one(spec, templates)
    spec["mutations"] = [for_template(m, kind.templates[0].path, _as_pod) for m in spec["mutations"]]


def _of_one(spec: dict[str, Any], templates: Templates) -> None:
    """Let the policy speak of the one template as `variables.pod`; conditions see no variables."""
    old = f"(oldObject == null ? null : {renamed(templates.text, 'oldObject')})"
    declared = [{"name": "pod", "expression": templates.text}, {"name": "oldPod", "expression": old}]
    declared += [{**v, "expression": _as_pod(v["expression"])} for v in spec.get("variables") or ()]
    spec["variables"] = declared
    worded = ("expression", "messageExpression")
    if "validations" in spec:
        spec["validations"] = [
            {**v, **{field: _as_pod(v[field]) for field in worded if field in v}} for v in spec["validations"]
        ]
    if conditions := spec.get("matchConditions"):
        inline = (f"({templates.text})", old)
        spec["matchConditions"] = [{**c, "expression": _condition(c["expression"], *inline)} for c in conditions]


def _as_pod(text: str) -> str:
    return renamed(renamed(text, "variables.oldPod", "oldObject"), "variables.pod")


def _condition(text: str, pod: str, old: str) -> str:
    """Write a match condition for a template; one that asks whether something changed may ask it of the whole."""
    return text if _plain(text) in WHOLE else renamed(renamed(text, old, "oldObject"), pod)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _of_many(spec: dict[str, Any], templates: Templates) -> None:
    """Apply each validation to every template. Raises NotPortable where a template's old form would be needed."""
    variables = {v["name"]: v["expression"] for v in spec.get("variables") or ()}
    spec["variables"] = [{"name": "pods", "expression": templates.text}]
    spec["validations"] = [_for_all(v, variables) for v in spec["validations"]]
    conditions = spec.get("matchConditions") or ()
    texts = [v["expression"] for v in spec["validations"]]
    texts += [c["expression"] for c in conditions if _plain(c["expression"]) not in WHOLE]
    if any(renamed(text, "x", "oldObject") != text for text in texts):
        raise NotPortable("it reads oldObject, whose templates cannot be matched with the new ones")
    if conditions:
        spec["matchConditions"] = [{**c, "expression": _exists(c["expression"], templates)} for c in conditions]


def _exists(text: str, templates: Templates) -> str:
    return text if _plain(text) in WHOLE else f"({templates.text}).exists(pod, {renamed(text, 'pod')})"


def _rule(rule: dict[str, Any], kind: JobKind) -> dict[str, Any]:
    return {**rule, "apiGroups": [kind.group], "apiVersions": list(kind.versions), "resources": [kind.resource]}


def _for_all(validation: dict[str, Any], variables: dict[str, str]) -> dict[str, Any]:
    """Return the text for every template; a message that may concern one template only is left to `message`."""
    text = renamed(inlined(validation["expression"], variables), "pod")
    made = {**validation, "expression": f"variables.pods.all(pod, {text})"}
    made.pop("messageExpression", None)
    if not made.get("message"):
        made["message"] = "a pod template violates this policy"
    return made


def _compiles(native: dict[str, Any]) -> None:
    """Raise NotPortable where the policy that was written does not compile."""
    try:
        wrong = wrong_with(Document(native, "native"))
    except (SourceError, CelError, CompileError) as error:
        raise NotPortable(str(error)) from None
    if wrong:
        raise NotPortable(f"its native form does not compile: {wrong[0].message}")


def _bound(policy: Policy, native: dict[str, Any], bindings: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    kind = f"{native['kind']}Binding"
    for binding in bindings:
        spec = binding.get("spec") or {}
        if binding.get("kind") == kind and spec.get("policyName") == policy.name:
            name = native["metadata"]["name"]
            suffix = name.removeprefix(policy.name)
            yield {
                "apiVersion": native["apiVersion"],
                "kind": kind,
                "metadata": {"name": f"{binding['metadata']['name']}{suffix}", "labels": {LABEL: policy.name}},
                "spec": {**spec, "policyName": name},
            }
