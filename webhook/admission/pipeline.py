"""Admission as pure functions: from a request, a bundle, facts and a gate to a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from webhook.admission.gate import Facts, Gate
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.cel.lib.go.strconv import json_text, json_value
from webhook.jobs.normalise import normalise
from webhook.jobs.read_job import queue_of, templates
from webhook.kube.json_patch import Operation, apply, diff
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.failure_policy import configuration_error
from webhook.policy.evaluation.mutate import mutate as run_mutating
from webhook.policy.evaluation.observers import Observer
from webhook.policy.evaluation.result import FAILURE_KEY, EvaluationResult
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.evaluation.validate import validate as run_validating
from webhook.policy.facts import FactError, Unanswered
from webhook.policy.matching.bound_policies import BoundPolicies, BoundPolicy
from webhook.policy.matching.exceptions import excused
from webhook.policy.pod_templates import Targets
from webhook.policy.request import Request

CODES: Final = {
    "Unauthorized": 401,
    "Forbidden": 403,
    "RequestEntityTooLarge": 413,
    "Invalid": 422,
    "InternalError": 500,
}
ALLOWED: Final = Verdict(allowed=True)
Clock = Callable[[], float]


def mutate(
    request: Request, bundle: Bundle, facts: Facts, *, observer: Observer | None = None, clock: Clock = time.time
) -> Verdict | NeedsFacts:
    """Run the mutating policies: the verdict has the patch, or the denial of a policy that failed.

    `clock` returns seconds since 1970 and is read only if the bundle has exceptions.
    """
    bound = bundle.mutating.policies_for(request)
    if not bound.all or request.object is None:
        return ALLOWED
    context = _context(request, facts, observer)
    targets = context.targets
    start = targets.object
    run_mutating(_applicable(bound, bundle, context, clock), context)
    if context.result.unknown:
        return NeedsFacts(tuple(dict.fromkeys(context.result.unknown)))
    if context.result.denials:
        return _verdict(context)
    made = diff(start, targets.object)
    patch = _sound(made)
    if not patch:
        return _verdict(context, (), request.object)
    after = targets.object if start is request.object and patch is made else apply(request.object, patch)
    return _verdict(context, patch, after)


def validate(
    request: Request,
    bundle: Bundle,
    facts: Facts,
    gate: Gate | None = None,
    *,
    observer: Observer | None = None,
    clock: Clock = time.time,
) -> Verdict | NeedsFacts:
    """Run the validating policies and then, if they allow the request, the queue gate (None: no queueing)."""
    bound = bundle.validating.policies_for(request)
    context = _context(request, facts, observer)
    if bound.all:
        run_validating(_applicable(bound, bundle, context, clock), context)
    if context.result.unknown:
        return NeedsFacts(tuple(dict.fromkeys(context.result.unknown)))
    verdict = _verdict(context, (), request.object)
    return verdict if gate is None or not verdict.allowed else _ask(gate, context, verdict)


def review(
    request: Request,
    bundle: Bundle,
    facts: Facts,
    gate: Gate | None = None,
    *,
    observer: Observer | None = None,
    clock: Clock = time.time,
) -> Verdict | NeedsFacts:
    """Mutate, then validate the result, as the API server does. The verdict has the patch of the mutation."""
    shaped = mutate(request, bundle, facts, observer=observer, clock=clock)
    if isinstance(shaped, NeedsFacts) or not shaped.allowed:
        return shaped
    after = request if shaped.object is None else replace(request, object=shaped.object)
    judged = validate(after, bundle, facts, gate, observer=observer, clock=clock)
    if isinstance(judged, NeedsFacts):
        return judged
    return replace(
        judged,
        patch=shaped.patch,
        object=after.object,
        warnings=tuple(dict.fromkeys((*shaped.warnings, *judged.warnings))),
        audit_annotations={**shaped.audit_annotations, **judged.audit_annotations},
        policies=tuple(dict.fromkeys((*shaped.policies, *judged.policies))),
        changed_by=shaped.changed_by,
        oscillating=shaped.oscillating,
    )


def _sound(patch: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Return a patch that is valid JSON: strings that are not UTF-8 are repaired as the API server does it."""
    try:
        orjson.dumps([tuple(step) for step in patch], default=repr)
    except orjson.JSONEncodeError:
        return tuple(s._replace(path=json_text(s.path), value=json_value(s.value)) for s in patch)
    return patch


def _context(request: Request, facts: Facts, observer: Observer | None) -> ReviewContext:
    """Return the context of the policies, with quantities as strings in the object and the old object."""
    old = None if request.old_object is None else normalise(request.old_object)
    if request.object is None:
        return ReviewContext(request, facts, Targets(None, old), observer)
    known = templates(request.object)
    obj = normalise(request.object, known)
    return ReviewContext(request, facts, Targets(obj, old, known if obj is request.object else None), observer)


def _applicable(bound: BoundPolicies, bundle: Bundle, context: ReviewContext, clock: Clock) -> Sequence[BoundPolicy]:
    """Return the policies that apply to this request; none while its Namespace has to be read.

    If the Namespace is missing or unreadable, every policy that may apply fails by its failurePolicy.
    """
    try:
        policies = bound.choose(context.namespace_labels(), context.request)
        return _not_excused(policies, bundle, context, clock) if bundle.exceptions else policies
    except Unanswered as unanswered:
        context.result.unknown.append(unanswered.question)
    except FactError as error:
        for one in _not_excused(bound.choose(None, context.request), bundle, context, clock):
            configuration_error(one.policy, one.binding, f"failed to configure policy: {error}", context)
    return ()


def _not_excused(
    policies: Sequence[BoundPolicy], bundle: Bundle, context: ReviewContext, clock: Clock
) -> Sequence[BoundPolicy]:
    """Return the policies without those from which an exception exempts the request."""
    names = excused(bundle.exceptions, context.request, context.targets.object, context.targets.old, clock())
    return [one for one in policies if one.policy.name not in names] if names else policies


def _verdict(
    context: ReviewContext,
    patch: tuple[Operation, ...] = (),
    obj: dict[str, Any] | None = None,
) -> Verdict:
    result = context.result
    verdict = Verdict(
        allowed=True,
        patch=patch,
        object=obj,
        policies=tuple(result.evaluated),
        changed_by=tuple(result.changing),
    )
    if not (result.denials or result.warnings or result.audits or result.oscillating):
        return verdict
    texts = tuple(dict.fromkeys(json_text(denial.text()) for denial in result.denials))
    reason = result.denials[0].reason if texts else ""
    return replace(
        verdict,
        allowed=not texts,
        code=CODES.get(reason, 422) if texts else 200,
        reason=reason,
        message="; ".join(texts),
        warnings=_warnings(result),
        audit_annotations=_audits(result),
        denials=texts,
        denied_by=tuple(dict.fromkeys(denial.policy for denial in result.denials)),
        oscillating=tuple(result.oscillating),
    )


def _warnings(result: EvaluationResult) -> tuple[str, ...]:
    """Return each warning once, untruncated: the API server itself truncates them if they are too long in total."""
    texts = list(result.warnings)
    if result.oscillating:
        texts.append(f"these policies undo each other's changes: {', '.join(result.oscillating)}")
    return tuple(dict.fromkeys(map(json_text, texts)))


def _audits(result: EvaluationResult) -> dict[str, str]:
    """Join several values of a key; failures become a JSON list, as in the API server's audit annotation."""
    joined = {}
    for key, values in result.audits.items():
        joined[key] = json_text(f"[{','.join(values)}]" if key == FAILURE_KEY else ", ".join(values))
    return joined


def _ask(gate: Gate, context: ReviewContext, verdict: Verdict) -> Verdict | NeedsFacts:
    """Ask the gate about a job that is created or gets another queue, and is not part of a queued job."""
    request, job = context.request, context.job()
    if job is None or not job.kind.held or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return verdict
    if job.queue is None or context.targets.object is None:
        return verdict
    if request.operation == "UPDATE" and not _queued_anew(context, job.queue):
        return verdict
    try:
        if not context.is_held() or context.look_for_owner():
            return verdict
    except Unanswered as unanswered:
        return NeedsFacts((unanswered.question,))
    except FactError:
        return verdict  # the controller decides once the object exists
    answer = gate.ask(job, context.targets.object, request.namespace, request.dry_run)
    warnings = tuple(dict.fromkeys((*verdict.warnings, *map(json_text, answer.warnings))))
    if answer.allowed:
        return replace(verdict, warnings=warnings)
    message = json_text(answer.message)
    return replace(
        verdict,
        allowed=False,
        code=CODES.get(answer.reason, 403),
        reason=answer.reason or "Forbidden",
        message=message,
        denials=(message,),
        warnings=warnings,
    )


def _queued_anew(context: ReviewContext, queue: str) -> bool:
    """Return whether an update changes the job's queue."""
    return queue_of(context.targets.old or {}) != queue
