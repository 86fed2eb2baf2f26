"""Evaluating mutating policies, in the order of their names, with one round of reinvocation.

Rules: the dispatcher of the API server's mutating policy plugin. Its order is not defined; ours is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webhook.cel.errors import CelError
from webhook.policy.authorizer import Unanswered
from webhook.policy.expand import Stand, put_back, stand, whole
from webhook.policy.expression import OutOfBudget
from webhook.policy.findings import Denial, Findings
from webhook.policy.index import Entry
from webhook.policy.invoke import OUT_OF_BUDGET, Invocation, Scene, enter, invocations
from webhook.policy.model import Policy
from webhook.policy.patching import MutationError, patched
from webhook.policy.world import World


@dataclass(slots=True)
class Step:
    """An invocation, and what became of it: `ran` when its conditions held, the object it last left unchanged."""

    invocation: Invocation
    ran: bool = False
    settled: Any = None


def mutate(entries: Sequence[Entry], world: World, findings: Findings) -> dict[str, Any] | None:
    """Give the object as the policies leave it; what they did not touch is shared with the request's."""
    if world.object is None:
        return None
    steps = [Step(invocation) for invocation in invocations(entries, world, findings)]
    for step in steps:
        run(step, world, findings)
    again = [step for step in steps if step.ran and step.invocation.policy.reinvoke]
    if any(step.ran for step in steps) and again:
        before = world.object
        for step in again:
            if step.settled is not world.object:
                run(step, world, findings)
        if world.object is not before and not findings.denials:
            _look_for_oscillation(again, world, findings)
    return world.object


def _look_for_oscillation(steps: Sequence[Step], world: World, findings: Findings) -> None:
    """Try another round on a copy of the world: whoever still changes something will never come to rest."""
    trial = replace_object(world)
    ignored = Findings()
    for step in steps:
        before = trial.object
        run(Step(step.invocation), trial, ignored)
        if trial.object is not before:
            findings.oscillating.append(step.invocation.policy.name)


def replace_object(world: World) -> World:
    """Give a world of the same request and object, of which the object may be changed."""
    return World(world.request, world.facts, world.object, world.old)


def run(step: Step, world: World, findings: Findings) -> None:
    """Run one invocation on all it is for, and put what it changes into the world's object."""
    before = world.object
    for at in _stands(step.invocation, world):
        if at.object is not None and at.writable and step.invocation.takes(at):
            _run_on(step, world, at, findings)
    if world.object is before:
        step.settled = before


def _stands(invocation: Invocation, world: World) -> Sequence[Stand]:
    if not invocation.entry.expanded:
        return whole(world)
    job = world.job()
    return [] if job is None else [stand(world, pod_set) for pod_set in job.pod_sets]


def _run_on(step: Step, world: World, at: Stand, findings: Findings) -> None:
    invocation, policy = step.invocation, step.invocation.policy
    seen = enter(invocation, world, at, findings)
    if seen is None:
        return
    if isinstance(seen, str):
        findings.denials.append(Denial(policy.name, invocation.binding.name, seen, "Forbidden", place=at.path))
        return
    step.ran = True
    if policy.name not in findings.evaluated:
        findings.evaluated.append(policy.name)
    before, first = at, seen
    for i in range(len(policy.mutations)):
        if seen.stand is not at:
            if seen is not first:
                seen.close()
            seen = Scene(invocation, world, at)
        at = _mutation(invocation, i, seen, findings)
    if at.object is not before.object and at.object is not None and before.object is not None:
        _changed(invocation, world, first, at.object, findings)
    first.close()
    seen.close()


def _mutation(invocation: Invocation, index: int, seen: Scene, findings: Findings) -> Stand:
    """Do one mutation; one that fails leaves the object, and is a denial unless the failure policy is Ignore."""
    policy, at = invocation.policy, seen.stand
    mutation = policy.mutations[index]
    try:
        result = patched(at.object, mutation, seen.call(mutation.expression), seen.values)
    except OutOfBudget:
        error = OUT_OF_BUDGET
    except CelError as failure:
        error = f"expression '{mutation.expression.text}' resulted in error: {failure.message}"
    except MutationError as failure:
        error = str(failure)
    except Unanswered as unanswered:
        findings.unknown.append(unanswered.check)
        return at
    else:
        if findings.observer is not None:
            findings.saw(policy, "mutations", index, "unchanged" if result is at.object else "changed")
        return at if result is at.object else Stand(at.path, at.writable, result, at.old)
    findings.saw(policy, "mutations", index, "error")
    if not policy.ignore_failure:
        findings.denials.append(Denial(policy.name, invocation.binding.name, error, "Forbidden", at.path, index))
    return at


def _changed(invocation: Invocation, world: World, first: Scene, after: dict[str, Any], findings: Findings) -> None:
    """Keep the change, or, where the policy's mode is audit or warn, only tell of it."""
    policy = invocation.policy
    if policy.mode == "enforce":
        assert world.object is not None
        warning = _warning(invocation.policy, first)
        world.object = put_back(world.object, first.stand, after)
    else:
        warning = f"{policy.name} would change this object (mode {policy.mode})"
        findings.audit(f"{policy.name}/would-mutate", "true")
    if warning and policy.mode != "audit" and warning not in findings.warnings:
        findings.warnings.append(warning)


def _warning(policy: Policy, first: Scene) -> str:
    """Word what the policy says about its change, by its own expression on the object before it."""
    if policy.warning is None:
        return ""
    try:
        text = first.call(policy.warning)
    except (CelError, OutOfBudget) as error:
        text = f"its warning failed: {error}"
    return f"{policy.name}: {text}" if isinstance(text, str) and text else ""
