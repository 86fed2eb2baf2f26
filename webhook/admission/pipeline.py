"""The whole of admission as pure functions: a request, a bundle, facts and a gate in, a verdict out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.admission.facts import Facts, Gate
from webhook.admission.verdict import NeedsAuthorization, Verdict
from webhook.cel.lib.go.strconv import json_text, json_value
from webhook.jobs.describe import queue_of, templates
from webhook.jobs.normalise import normalise
from webhook.kube.patch import Operation, apply, diff
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.mutate import mutate as run_mutating
from webhook.policy.evaluation.result import FAILURE_KEY, EvaluationResult, Observer
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.evaluation.validate import validate as run_validating
from webhook.policy.matching.bound_policies import BoundPolicies, BoundPolicy
from webhook.policy.matching.exceptions import excused
from webhook.policy.request import Request

WARNING_LENGTH: Final = 256
CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
ALLOWED: Final = Verdict(allowed=True)
Clock = Callable[[], float]


def mutate(
    request: Request, bundle: Bundle, facts: Facts, *, observer: Observer | None = None, clock: Clock = time.time
) -> Verdict | NeedsAuthorization:
    """Shape the object: the verdict has the patch, or the denial of a policy that could not be evaluated.

    `clock` gives seconds since 1970 and is read only where the bundle has exceptions.
    """
    plan = bundle.mutating.plan(request)
    if not plan.steps or request.object is None:
        return ALLOWED
    world = _world(request, facts)
    start = world.object
    findings = EvaluationResult(observer)
    run_mutating(_applicable(plan, bundle, world, clock), world, findings)
    if findings.unknown:
        return NeedsAuthorization(tuple(dict.fromkeys(findings.unknown)))
    if findings.denials:
        return _verdict(findings, world)
    made = diff(start, world.object)
    patch = _sound(made)
    if not patch:
        return _verdict(findings, world, (), request.object)
    after = world.object if start is request.object and patch is made else apply(request.object, patch)
    return _verdict(findings, world, patch, after)


def validate(
    request: Request,
    bundle: Bundle,
    facts: Facts,
    gate: Gate | None = None,
    *,
    observer: Observer | None = None,
    clock: Clock = time.time,
) -> Verdict | NeedsAuthorization:
    """Judge the object: policies first, then, where they let it in, the gate to the queue (None: no queueing)."""
    plan = bundle.validating.plan(request)
    world = _world(request, facts)
    findings = EvaluationResult(observer)
    if plan.steps:
        run_validating(_applicable(plan, bundle, world, clock), world, findings)
    if findings.unknown:
        return NeedsAuthorization(tuple(dict.fromkeys(findings.unknown)))
    verdict = _verdict(findings, world, (), request.object)
    return verdict if gate is None or not verdict.allowed else _ask(gate, world, verdict)


def review(
    request: Request,
    bundle: Bundle,
    facts: Facts,
    gate: Gate | None = None,
    *,
    observer: Observer | None = None,
    clock: Clock = time.time,
) -> Verdict | NeedsAuthorization:
    """Do both, as the API server does: shape, then judge what came of it. The verdict has the patch of the first."""
    shaped = mutate(request, bundle, facts, observer=observer, clock=clock)
    if isinstance(shaped, NeedsAuthorization) or not shaped.allowed:
        return shaped
    after = request if shaped.object is None else replace(request, object=shaped.object)
    judged = validate(after, bundle, facts, gate, observer=observer, clock=clock)
    if isinstance(judged, NeedsAuthorization):
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
    """Give a patch as it can stand in JSON: texts that are not UTF-8 are mended as the API server does it."""
    pairs = [(json_text(step.path), json_value(step.value)) for step in patch]
    if all(path is step.path and value is step.value for (path, value), step in zip(pairs, patch, strict=True)):
        return patch
    return tuple(step._replace(path=path, value=value) for step, (path, value) in zip(patch, pairs, strict=True))


def _world(request: Request, facts: Facts) -> ReviewContext:
    """Put together what policies see: quantities as strings, in the object and in the old one."""
    old = None if request.old_object is None else normalise(request.old_object)
    if request.object is None:
        return ReviewContext(request, facts, None, old)
    found = templates(request.object)
    obj = normalise(request.object, found)
    return ReviewContext(request, facts, obj, old, found if obj is request.object else None)


def _applicable(plan: BoundPolicies, bundle: Bundle, world: ReviewContext, clock: Clock) -> Sequence[BoundPolicy]:
    """Give the steps that are for this request, less those of policies an exception frees it from."""
    steps = plan.choose(world.namespace_labels(), world.request)
    if not bundle.exceptions:
        return steps
    names = excused(bundle.exceptions, world.request, world.object, world.old, clock())
    return [step for step in steps if step.policy.name not in names] if names else steps


def _verdict(
    findings: EvaluationResult,
    world: ReviewContext,
    patch: tuple[Operation, ...] = (),
    obj: dict[str, Any] | None = None,
) -> Verdict:
    if not (findings.denials or findings.warnings or findings.audits or findings.evaluated):
        return ALLOWED if obj is None else Verdict(allowed=True, patch=patch, object=obj)
    texts = tuple(dict.fromkeys(json_text(denial.text()) for denial in findings.denials))
    reason = findings.denials[0].reason if texts else ""
    return Verdict(
        allowed=not texts,
        code=CODES.get(reason, 422) if texts else 200,
        reason=reason,
        message="; ".join(texts),
        patch=patch,
        warnings=_warnings(findings),
        audit_annotations=_audits(findings),
        object=obj,
        denials=texts,
        policies=tuple(findings.evaluated),
        changed_by=tuple(findings.changing),
        oscillating=tuple(findings.oscillating),
    )


def _warnings(findings: EvaluationResult) -> tuple[str, ...]:
    """Give each warning once, cut to the length the API server passes on."""
    told = list(findings.warnings)
    if findings.oscillating:
        told.append(f"these policies undo each other's changes: {', '.join(findings.oscillating)}")
    return tuple(dict.fromkeys(map(shorten, told)))


def shorten(text: str) -> str:
    """Cut a warning to 256 characters, all of them such as JSON can hold."""
    text = json_text(text)
    return text if len(text) <= WARNING_LENGTH else text[: WARNING_LENGTH - 1] + "…"


def _audits(findings: EvaluationResult) -> dict[str, str]:
    """Join several values of a key; failures become one JSON list, as the API server's audit annotation is."""
    joined = {}
    for key, values in findings.audits.items():
        joined[key] = json_text(f"[{','.join(values)}]" if key == FAILURE_KEY else ", ".join(values))
    return joined


def _ask(gate: Gate, world: ReviewContext, verdict: Verdict) -> Verdict:
    """Ask the gate for a job that is created, or given a queue, and that no queued job owns."""
    request, job = world.request, world.job()
    if job is None or not job.kind.queued or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return verdict
    if job.queue is None or world.object is None or world.owned():
        return verdict
    if request.operation == "UPDATE" and not _queued_anew(world, job.queue):
        return verdict
    answer = gate.ask(job, world.object, request.namespace, request.dry_run)
    warnings = tuple(dict.fromkeys((*verdict.warnings, *map(shorten, answer.warnings))))
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


def _queued_anew(world: ReviewContext, queue: str) -> bool:
    """Say whether an update put the job into another queue."""
    return queue_of(world.old or {}) != queue
