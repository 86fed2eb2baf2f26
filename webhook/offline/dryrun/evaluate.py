"""Evaluates objects from files as the server would: one request and one verdict per object, facts from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.admission.gate import Gate
from webhook.admission.pipeline import review
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import BadReview, parse
from webhook.diagnostics import Diagnostic, Severity
from webhook.documents import Document
from webhook.kube.gvk import NAMESPACE
from webhook.kube.well_known import SLUICE
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.missing import has_opted_in, missing_facts, missing_queues, selects_namespaces, unmanaged
from webhook.offline.dryrun.outcome import ObjectOutcome, ObjectRef
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.observers import Observer
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.no_object import is_object, no_object
from webhook.policy.loading.policy_kinds import GROUP, SHAPES
from webhook.policy.request import Request

Object = dict[str, Any]
_REVIEW: Final = "AdmissionReview"
_HOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Kinds that the API server's own policies judge, and about which it asks no webhook."""


@dataclass(frozen=True, slots=True)
class Input:
    """An object to try, and where it stands. `request` is set where the file holds a whole AdmissionReview.

    `number` counts the objects that get a name of the same `generateName`.
    """

    ref: ObjectRef
    obj: Object
    request: Request | None = None
    number: int = 1


def inputs(documents: Iterable[Document], sender: Sender) -> tuple[list[Input], list[Diagnostic]]:
    """Take the objects out of documents: Lists unpacked, policies and suites left out, reviews read as they are.

    What is no object is told (LOAD002, REV001), not raised.
    """
    found: list[Input] = []
    wrong: list[Diagnostic] = []
    named: Counter[str] = Counter()
    for document in (entry for whole in documents for entry in entries(whole)):
        value = document.value
        if not is_object(value):
            wrong.append(no_object(document))
        elif value["kind"] == _REVIEW:
            try:
                found.append(_review_input(document))
            except BadReview as error:
                wrong.append(document.diagnostic("REV001", (), str(error)))
        elif not _judges(value):
            ref = _ref(document, value, sender)
            named[str(ref)] += 1
            found.append(Input(ref, value, number=named[str(ref)]))
    return found, wrong


def _judges(value: Object) -> bool:
    """Return whether an object is a policy, a binding or one of Sluice's own files: nobody is asked about these."""
    group = value["apiVersion"].partition("/")[0]
    return group == SLUICE or (group == GROUP and value["kind"] in SHAPES)


def nothing(documents: Iterable[Document]) -> str:
    """Return why there is nothing to try in documents."""
    values = (document.value for whole in documents for document in entries(whole))
    groups = {str(value.get("apiVersion")).partition("/")[0] for value in values if isinstance(value, dict)}
    why = ": the API server evaluates no policy on policies and bindings" if GROUP in groups else ""
    return f"no objects to evaluate in these files{why}"


def _review_input(document: Document) -> Input:
    request = parse(document.value)
    obj = request.object or request.old_object or {}
    ref = ObjectRef(request.kind.kind, request.namespace, request.name, document.place())
    return Input(ref, obj, request)


def _ref(document: Document, value: Object, sender: Sender) -> ObjectRef:
    metadata = value.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "unnamed"
    return ObjectRef(value["kind"], str(metadata.get("namespace") or ""), str(name), document.place())


@dataclass(frozen=True, slots=True)
class DryRunContext:
    """What objects are tried under: policies, the facts of the files, who sends the objects, and what the queue says.

    `clock` is the time, for exceptions with an expiry date. `resources` are read off the objects' CRDs.
    """

    bundle: Bundle
    facts: FileFacts
    sender: Sender
    resources: ResourceScopes
    gate: Gate | None
    clock: Callable[[], float]

    @classmethod
    def of(
        cls,
        objects: Iterable[Object],
        bundle: Bundle,
        facts: FileFacts,
        sender: Sender,
        gate: Gate | None,
        clock: Callable[[], float],
    ) -> DryRunContext:
        """Make the context in which some objects are tried together."""
        return cls(bundle, facts, sender, ResourceScopes.of([*bundle.objects, *objects], facts), gate, clock)

    def received(self, item: Input) -> Object:
        """Return an object as admission sees it."""
        if item.request:
            return item.obj
        return received(item.obj, self.resources, self.sender, item.number)

    def request_for(self, item: Input, obj: Object) -> Request:
        """Make the request for an object that was `received`. Raises BadReview where it cannot be one."""
        return item.request or request_for(obj, self.resources, self.sender)


@dataclass(frozen=True, slots=True)
class Trial:
    """Outcomes of all objects under one set of policies, what was assumed on the way, and what was missing."""

    outcomes: tuple[ObjectOutcome, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def dry_run(
    found: Iterable[Input],
    bundle: Bundle,
    facts: FileFacts,
    sender: Sender,
    gate: Gate | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Trial:
    """Return what would happen to each object. `clock` is the time, for exceptions with an expiry date."""
    given = list(found)
    context = DryRunContext.of((item.obj for item in given), bundle, facts, sender, gate, clock)
    outcomes = [outcome(item, context) for item in given]
    missing = (*missing_facts(facts, bundle), *(missing_queues(outcomes) if gate is None else ()))
    notes = (*_notes(facts, bundle), *_unasked(outcomes), *_unmanaged(outcomes, facts))
    return Trial(tuple(outcomes), notes, tuple(dict.fromkeys(missing)))


def outcome(item: Input, context: DryRunContext, observer: Observer | None = None) -> ObjectOutcome:
    """Try one object."""
    obj = context.received(item)
    try:
        request = context.request_for(item, obj)
    except BadReview as error:
        return ObjectOutcome(item.ref, allowed=False, denials=(str(error),), before=obj, code=400, reason="BadRequest")
    namespace = "" if request.kind == NAMESPACE else request.namespace
    ref = replace(item.ref, namespace=namespace, name=request.name or item.ref.name)
    verdict = review(request, context.bundle, context.facts, context.gate, observer=observer, clock=context.clock)
    assert not isinstance(verdict, NeedsFacts), "file facts answer every check"
    return _outcome(ref, verdict, request)


def _outcome(ref: ObjectRef, verdict: Verdict, request: Request) -> ObjectOutcome:
    after = verdict.object if verdict.object is not None else request.object
    return ObjectOutcome(
        ref,
        verdict.allowed,
        verdict.policies,
        verdict.denials or ((verdict.message,) if verdict.message else ()),
        verdict.warnings,
        request.object,
        after if verdict.allowed else None,
        code=verdict.code,
        reason=verdict.reason,
        changed_by=verdict.changed_by,
    )


def _notes(facts: FileFacts, bundle: Bundle) -> Iterator[str]:
    """Yield the assumptions."""
    if facts.unknown_namespaces and selects_namespaces(bundle):
        names = ", ".join(sorted(facts.unknown_namespaces))
        yield f"namespaces not in the files, assumed to have no labels: {names}"
    if facts.asked:
        checks = ", ".join(sorted({f"{c.user} {c.verb} {c.resource or c.path}" for c in facts.asked}))
        answer = "allowed" if facts.authorized else "denied"
        yield f"authorizer checks, {answer} because no cluster answers them: {checks}"
    for note in bundle.notes:
        if note.severity is not Severity.NOTE:
            yield f"{note.place}: {note.message}"


def _unasked(outcomes: Iterable[ObjectOutcome]) -> Iterator[str]:
    """Yield whose verdict is that of policies in the cluster alone."""
    names = [str(o.ref) for o in outcomes if o.ref.kind in _HOOKS and o.policies]
    if names:
        yield (f"the API server calls no webhook for {', '.join(names)}; apply these policies to the cluster itself")


def _unmanaged(outcomes: Iterable[ObjectOutcome], facts: FileFacts) -> Iterator[str]:
    """Name the namespaces about whose objects the API server does not ask, though policies match them."""
    names = sorted({outcome.ref.namespace for outcome in outcomes if outcome.ref.namespace and outcome.policies})
    if without := [name for name in names if (known := facts.known_namespace(name)) and not has_opted_in(known)]:
        yield unmanaged(without)
