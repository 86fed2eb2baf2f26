"""Documents to a bundle: which document is what, policies joined with their bindings, names that do not meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from webhook.diagnostics import Diagnostic, Severity, SourceError, did_you_mean
from webhook.documents import Document, Path
from webhook.jobs.normalise import normalise
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.selectors import SelectorError
from webhook.kube.well_known import SLUICE
from webhook.policy.bundle import Bundle
from webhook.policy.loading import policy_kinds
from webhook.policy.loading.compile import compile_binding, compile_policy
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.no_object import is_object, no_object
from webhook.policy.loading.shapes import check
from webhook.policy.match_resources import MatchResources
from webhook.policy.matching.exceptions import PolicyException, read_date
from webhook.policy.model import Binding, Policy


@dataclass(slots=True)
class Parts:
    """What the documents are, while they are sorted."""

    policies: list[Policy] = field(default_factory=list)
    bindings: list[tuple[str, str, Binding, Document]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    queue_policies: list[Document] = field(default_factory=list)
    exceptions: list[PolicyException] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    names: dict[tuple[str, str], Document] = field(default_factory=dict)


def assemble(documents: Iterable[Document], findings: Iterable[Diagnostic] = ()) -> Bundle:
    """Make a bundle of documents. Raises SourceError with all findings, those handed in among them."""
    bundle, found = assembled(documents)
    if wrong := [*findings, *found]:
        raise SourceError(wrong)
    return bundle


def assembled(documents: Iterable[Document]) -> tuple[Bundle, list[Diagnostic]]:
    """Make a bundle of the documents that can be used, and give what is wrong with the others."""
    found: list[Diagnostic] = []
    parts = Parts()
    for document in (entry for whole in documents for entry in entries(whole)):
        found += _sort(document, parts)
    policies = [_join(policy, parts) for policy in parts.policies]
    notes = [] if found else list(_notes(policies, parts))
    bundle = Bundle.of(policies, parts.values, parts.objects, parts.queue_policies, parts.exceptions, notes)
    return bundle.in_call_order(), found


def _sort(document: Document, parts: Parts) -> Iterator[Diagnostic]:
    """Take one document in; gives what is wrong with it."""
    value = document.value
    if not is_object(value):
        yield no_object(document)
        return
    gvk = gvk_of(value)
    if gvk.group == SLUICE:
        yield from _own(document, gvk, parts)
    elif gvk.group == policy_kinds.GROUP and gvk.kind in policy_kinds.SHAPES:
        yield from _registered(document, gvk, parts)
    else:
        parts.objects.append(normalise(value))
        parts.values.append(value)


def _registered(document: Document, gvk: GroupVersionKind, parts: Parts) -> Iterator[Diagnostic]:
    if gvk.version not in policy_kinds.VERSIONS:
        hint = did_you_mean(gvk.version, policy_kinds.VERSIONS) or "use v1, v1beta1 or v1alpha1"
        message = f'unknown version "{gvk.version}" of {gvk.group}'
        yield document.diagnostic("LOAD003", ("apiVersion",), message, hint=hint)
        return
    problems = [*check(document, policy_kinds.SHAPES[gvk.kind]), *_named_before(document, gvk, parts)]
    yield from problems
    if any(problem.code != "POL001" for problem in problems):
        return
    mutating = gvk.kind.startswith(policy_kinds.MUTATING)
    if gvk.kind.endswith(policy_kinds.BINDING):
        binding, wrong = compile_binding(document)
        yield from wrong
        if binding is not None:
            policy_name = document.value["spec"]["policyName"]
            parts.bindings.append(("M" if mutating else "V", policy_name, binding, document))
    else:
        policy, wrong = compile_policy(document, mutating=mutating)
        yield from wrong
        if policy is not None:
            parts.policies.append(policy)
    parts.values.append(document.value)


def _named_before(document: Document, gvk: GroupVersionKind, parts: Parts) -> Iterator[Diagnostic]:
    name = document.at(("metadata", "name"))
    first = parts.names.setdefault((gvk.kind, str(name)), document)
    if first is not document:
        message = (
            f'{gvk.kind} "{name}" is defined twice; the first definition is at {first.place(("metadata", "name"))}'
        )
        yield document.diagnostic("LOAD004", ("metadata", "name"), message)


def _own(document: Document, gvk: GroupVersionKind, parts: Parts) -> Iterator[Diagnostic]:
    """Sort a document of sluice.dev: queue rules and exceptions; suites are for `sluice test`."""
    if gvk.version != policy_kinds.OWN_VERSION:
        message = f'unknown version "{gvk.version}" of {SLUICE}'
        yield document.diagnostic(
            "LOAD003", ("apiVersion",), message, hint=f"write {SLUICE}/{policy_kinds.OWN_VERSION}"
        )
    elif gvk.kind == "QueuePolicy":
        parts.queue_policies.append(document)
        parts.values.append(document.value)
    elif gvk.kind == policy_kinds.EXCEPTION:
        problems = list(check(document, policy_kinds.EXCEPTION_SHAPE))
        yield from problems
        if not problems:
            exception, wrong = _exception(document)
            yield from wrong
            if exception is not None:
                parts.exceptions.append(exception)
                parts.values.append(document.value)
    elif gvk.kind != "Suite":
        known = ("QueuePolicy", policy_kinds.EXCEPTION, "Suite")
        hint = did_you_mean(gvk.kind, known) or f"use one of {', '.join(known)}"
        yield document.diagnostic("LOAD003", ("kind",), f'unknown kind "{gvk.kind}" of {SLUICE}', hint=hint)


def _exception(document: Document) -> tuple[PolicyException | None, list[Diagnostic]]:
    spec = document.value["spec"]
    expires = read_date(spec["expires"])
    if expires is None:
        hint = "use a day such as 2026-12-31, or a time with its zone (RFC 3339)"
        return None, [document.diagnostic("EXC001", ("spec", "expires"), "not a valid date", hint=hint)]
    try:
        match = MatchResources.of(spec)
    except SelectorError as error:
        path: Path = ("spec", "objectSelector", *error.path)
        return None, [document.diagnostic("POL004", path, str(error))]
    return (
        PolicyException(
            document.value["metadata"]["name"],
            frozenset(spec["policyNames"]),
            spec["reason"],
            expires,
            tuple(spec.get("namespaces") or ()),
            match,
            document,
            spec.get("enabled") is not False,
        ),
        [],
    )


def _join(policy: Policy, parts: Parts) -> Policy:
    """Return the policy with its bindings, in the order of their names."""
    key = "M" if policy.mutating else "V"
    mine = sorted((b for kind, name, b, _ in parts.bindings if (kind, name) == (key, policy.name)), key=_name)
    return replace(policy, bindings=tuple(mine))


def _name(binding: Binding) -> str:
    return binding.name


def _notes(policies: Iterable[Policy], parts: Parts) -> Iterator[Diagnostic]:
    """Yield what is valid but surely a mistake: a policy without a binding, a binding without a policy."""
    known = {("M" if p.mutating else "V", p.name) for p in policies}
    for policy in policies:
        if not policy.bindings and policy.document is not None:
            message = f'policy "{policy.name}" has no binding, so it is never evaluated'
            finding = policy.document.diagnostic("REF001", ("metadata", "name"), message)
            yield replace(finding, severity=Severity.WARNING)
    for key, name, _, document in parts.bindings:
        if (key, name) not in known:
            hint = did_you_mean(name, [n for k, n in known if k == key])
            finding = document.diagnostic(
                "REF002", ("spec", "policyName"), f'policy "{name}" does not exist', hint=hint
            )
            yield replace(finding, severity=Severity.WARNING)
