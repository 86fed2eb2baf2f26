"""Runs the cases of a suite by the same functions as the server, with the case's objects as the cluster."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from webhook.admission.gate import Check, Decision
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate, review
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import API_VERSION, BadReview, parse
from webhook.api.configuration.sections import QueueSettings
from webhook.diagnostics import Diagnostic, SourceError
from webhook.documents import Document, dump
from webhook.kube.gvk import gvk_of
from webhook.kube.typed.defaulted import defaulted
from webhook.offline.dryrun.requests import ResourceScopes, Sender, namespace_of, received
from webhook.offline.laws.search import TRIED_CLUSTERS, counterexample
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.suite.expectations import Judged, finds, problems
from webhook.offline.suite.queue_result import QueueResult, RulesFor, queue_result, rules_of
from webhook.offline.suite.suite_file import LAW, Case, resolve, resolve_one
from webhook.offline.suite.unmatched import unmatched
from webhook.offline.unreadable_objects import malformed, readable
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.observers import Observer
from webhook.policy.loading.list_items import below
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.matching.exceptions import read_date
from webhook.policy.queue_rules.files import rules_among
from webhook.policy.request import Request

DEFAULT_NOW: Final = 1_767_225_600.0
"""The time of a case that names none: 2026-01-01T00:00:00Z."""
DEFAULT_USER: Final = {"name": "alice@example.com", "groups": ["system:authenticated"]}


@dataclass(frozen=True, slots=True)
class Result:
    """How a case ended. `findings` are the expectations that did not hold; `verdict` is None where none was reached.

    `counterexample` is a cluster that breaks a law of the queue's rules, as a file that `sluice plan -f` reads.
    """

    case: Case
    outcome: CaseOutcome
    findings: tuple[Diagnostic, ...] = ()
    verdict: Verdict | None = None
    queue: QueueResult | None = None
    seconds: float = 0.0
    counterexample: str = ""


def run_case(
    case: Case,
    bundle: Bundle,
    observer: Observer | None = None,
    rules: RulesFor | None = None,
    examples: int = TRIED_CLUSTERS,
    settings: QueueSettings | None = None,
) -> Result:
    """Run one case against the policies. `rules` gives the queue's rules (default: compiled from the bundle).

    A case of a law is tried on so many `examples`. `settings` are those of the queues where the case has none.
    """
    if case.skip or (LAW in case.spec and not examples):
        return Result(case, CaseOutcome.SKIPPED)
    start = time.perf_counter()
    try:
        if LAW in case.spec:
            result = _lawful(case, bundle, examples)
        else:
            result = _invalid(case) if "invalid" in case.spec else _judged(case, bundle, observer, rules, settings)
    except SourceError as error:
        result = Result(case, CaseOutcome.ERROR, tuple(error.diagnostics))
    except BadReview as error:
        result = Result(
            case, CaseOutcome.ERROR, (case.diagnostic("SUI003", f"cannot build a request from this: {error}"),)
        )
    return replace(result, seconds=time.perf_counter() - start)


def _judged(
    case: Case, bundle: Bundle, observer: Observer | None, rules: RulesFor | None, settings: QueueSettings | None
) -> Result:
    now = moment(case)
    facts = CaseFacts(case, bundle.objects)
    resources = ResourceScopes.of((), facts)
    request = request_of(case, resources)
    verdict = review(request, bundle, facts, None, observer=observer, clock=lambda: now)
    if isinstance(verdict, NeedsFacts):
        checks = [question for question in verdict.questions if isinstance(question, Check)]
        asked = ", ".join(sorted({f"{check.verb} {check.resource or check.path}" for check in checks}))
        message = f"the policy calls the authorizer ({asked}); set the answer under authorizer"
        return Result(case, CaseOutcome.ERROR, (case.diagnostic("SUI003", message),))
    queue = None
    if (case.spec.get("expect") or {}).get("queue") and verdict.allowed:
        compiled = rules or partial(rules_of, bundle, ())
        if wrong := malformed(_given(case, facts.all)):
            raise SourceError(wrong)
        with readable(lambda: _given(case, facts.all)):
            queue = queue_result(verdict.object or request.object or {}, facts.all, compiled, now, settings)
    restless = tuple(_restless(request, verdict, bundle, facts, now))
    judged = Judged(request, verdict, queue, lambda: unmatched(request, facts, bundle, now), restless, resources)
    found = tuple(problems(case, judged))
    return Result(case, CaseOutcome.FAILURE if found else CaseOutcome.PASSED, found, verdict, queue)


def _given(case: Case, others: Iterable[dict[str, Any]]) -> Iterator[Document]:
    """Yield the objects of a case as documents: an inline object at its place, the others at the case's."""
    if isinstance(case.spec.get("object"), dict):
        yield below(case.document, (*case.route, "object"))
    else:
        others = [*resolve(case, case.spec.get("object")), *others]
    around = below(case.document, (*case.route, "name"))
    yield from (Document(obj, around.file, around.lines, around.nodes) for obj in others)


def _restless(request: Request, verdict: Verdict, bundle: Bundle, facts: MemoryFacts, now: float) -> list[str]:
    """Name the policies that may be invoked again, and then change what they made."""
    if not (verdict.allowed and verdict.changed_by):
        return []
    made = replace(request, object=verdict.object)
    again = mutate(made, bundle, facts, clock=lambda: now)
    if isinstance(again, NeedsFacts):
        return []
    may = {bound.policy.name for bound in bundle.mutating.policies_for(made).all if bound.policy.reinvoke}
    return [name for name in again.changed_by if name in may]


def _lawful(case: Case, bundle: Bundle, examples: int) -> Result:
    """Try a law that a QueuePolicy names on random clusters."""
    law, name = str(case.spec[LAW]), str(case.document.at(("metadata", "name")))
    broken = counterexample(law, rules_among(bundle.queue_policies, [name]), examples)
    if broken is None:
        return Result(case, CaseOutcome.PASSED)
    hint = f"save the objects below and run: sluice plan -f FILE --rules {case.document.file}"
    found = case.diagnostic("RUL010", f"{law} does not hold: {broken.why}", hint=hint)
    text = "".join(f"---\n{dump(obj)}" for obj in broken.objects)
    return Result(case, CaseOutcome.FAILURE, (found,), counterexample=text)


def _invalid(case: Case) -> Result:
    """Run a whole-policy case: the file must be refused, with the message the case expects."""
    path = case.folder / case.spec["invalid"]
    wanted = (case.spec.get("expect") or {}).get("message", "")
    try:
        load_bundle([path])
    except SourceError as error:
        if any(d.code == "FILE001" for d in error.diagnostics):
            raise
        found = tuple(_unlike(case, wanted, error.render()))
    else:
        found = (
            case.diagnostic("SUI010", f"{case.spec['invalid']} loads without an error, but should not", "invalid"),
        )
    return Result(case, CaseOutcome.FAILURE if found else CaseOutcome.PASSED, found)


def _unlike(case: Case, wanted: str, text: str) -> Iterable[Diagnostic]:
    if wanted and not finds(wanted)(text):
        yield case.diagnostic(
            "SUI011", "the file fails to load with a different message", "expect", "message", hint=text
        )


def moment(case: Case) -> float:
    """Return the time of a case, in seconds since 1970."""
    found = read_date(case.spec["now"]) if "now" in case.spec else None
    return DEFAULT_NOW if found is None else found


class CaseFacts(MemoryFacts):
    """The facts of one case: its cluster and params, its namespace, its table of permissions."""

    def __init__(self, case: Case, objects: Iterable[dict[str, Any]]) -> None:
        given = [*objects, *resolve(case, case.spec.get("cluster")), *resolve(case, case.spec.get("params"))]
        namespace = case.spec.get("namespace")
        if isinstance(namespace, dict):
            given.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", **namespace}})
        self.all = [defaulted(o) for o in given]
        self._table = case.spec.get("authorizer")
        super().__init__(given)

    def authorize(self, check: Check) -> Decision:
        """Answer by the first row whose fields are all those of the check; without a table nothing is known."""
        for row in self._table or ():
            if all(getattr(check, k) == v for k, v in row.items() if k != "allowed"):
                return Decision.ALLOWED if row.get("allowed", True) else Decision.DENIED
        return Decision.UNKNOWN if self._table is None else Decision.DENIED


def request_of(case: Case, resources: ResourceScopes) -> Request:
    """Make the request that an API server would send for the case. Raises BadReview."""
    spec = case.spec
    obj = resolve_one(case, spec.get("object"))
    if obj is not None and obj.get("kind") == "AdmissionReview":
        return parse(obj)
    old = resolve_one(case, spec.get("oldObject"))
    operation = spec.get("operation") or ("UPDATE" if obj and old else "CREATE" if obj else "DELETE")
    if operation == "DELETE":
        obj, old = None, old or obj
    elif operation == "UPDATE":
        old = old or copy.deepcopy(obj)
    return parse(
        {"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": _wire(case, obj, old, operation, resources)}
    )


def _wire(case: Case, obj: Any, old: Any, operation: str, resources: ResourceScopes) -> dict[str, Any]:
    spec = case.spec
    namespace = spec.get("namespace") or "default"
    where = namespace.get("name", "default") if isinstance(namespace, dict) else namespace
    sender = Sender(namespace=where)
    obj, old = (None if o is None else received(o, resources, sender) for o in (obj, old))
    shown = obj or old or {}
    gvk, metadata = gvk_of(shown), shown.get("metadata") or {}
    kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
    resource = {"group": gvk.group, "version": gvk.version, "resource": resources.of_kind(gvk)}
    user = {**DEFAULT_USER, **(spec.get("user") or {})}
    sub = {"subResource": spec["subresource"]} if spec.get("subresource") else {}
    manager = {"fieldManager": spec["fieldManager"]} if spec.get("fieldManager") else {}
    return {
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": kind,
        "resource": resource,
        **sub,
        "requestKind": kind,
        "requestResource": resource,
        "name": str(metadata.get("name") or ""),
        "namespace": namespace_of(shown),
        "operation": operation,
        "userInfo": {"username": user.pop("name"), **user},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.capitalize()}Options", **manager},
    }
