"""Evaluating mutating policies, in the order of their names, with one round of reinvocation.

Rules: the dispatcher of the API server's mutating policy plugin. Its order is not defined; ours is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.cel.errors import CelError, Interrupted
from webhook.policy.evaluation.activation import OUT_OF_BUDGET, Activation, Invocation, conditions_hold
from webhook.policy.evaluation.authorizer import Unanswered
from webhook.policy.evaluation.invocation import runs, stands_for, unexpected
from webhook.policy.evaluation.result import Denial, EvaluationResult
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import OutOfBudget
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.model import Policy
from webhook.policy.patching.mutation import MutationError, patched
from webhook.policy.pod_templates import EvaluationTarget, put_back


def mutate(steps: Sequence[BoundPolicy], world: ReviewContext, findings: EvaluationResult) -> dict[str, Any] | None:
    """Give the object as the policies leave it; what they did not touch is shared with the request's.

    In the second round those that may be invoked again are, where another policy has since changed what they read or
    write (docs/decisions/0064).
    """
    if world.object is None:
        return None
    done = list(runs(steps, world, findings))
    for one in done:
        run(one, world, findings)
    before = world.object
    again = [one for one in done if one.ran and one.step.policy.reinvoke]
    for one in again:
        run(one, world, findings)
    if world.object is not before and not findings.denials:
        _look_for_oscillation(again, world, findings)
    world.close()
    return world.object


def _look_for_oscillation(again: Sequence[Invocation], world: ReviewContext, findings: EvaluationResult) -> None:
    """Try another round on a copy of the world: whoever still changes something will never come to rest."""
    trial = world.copy()
    ignored = EvaluationResult()
    for one in again:
        before = trial.object
        run(Invocation(one.step, one.param), trial, ignored)
        if trial.object is not before:
            findings.oscillating.append(one.step.policy.name)
    trial.close()


def run(one: Invocation, world: ReviewContext, findings: EvaluationResult) -> None:
    """Run one step on all it is for where it does not rest, and put what it changes into the world's object."""
    for at in stands_for(one.step, world):
        if at.object is not None and at.writable and not one.rests(at):
            one.left[at.path] = _safely_on(one, world, at, at.object, findings)


def _safely_on(
    one: Invocation, world: ReviewContext, at: EvaluationTarget, obj: dict[str, Any], findings: EvaluationResult
) -> dict[str, Any]:
    """Give what stands there afterwards; where the policy fails as none may, what did before."""
    try:
        return _run_on(one, world, at, obj, findings)
    except Unanswered as unanswered:
        findings.unknown.append(unanswered.check)
    except (Exception, Interrupted) as error:
        policy, text = one.step.policy, unexpected(one.step.policy, error)
        if not policy.ignore_failure:
            findings.denials.append(Denial(policy.name, one.step.binding.name, text, "Forbidden", at.path))
    return obj


def _run_on(
    one: Invocation, world: ReviewContext, at: EvaluationTarget, obj: dict[str, Any], findings: EvaluationResult
) -> dict[str, Any]:
    """Give what stands there afterwards; `obj` is what does before."""
    policy = one.step.policy
    if policy.conditions:
        held = conditions_hold(one, world, at, findings)
        if held is not True:
            if held:
                findings.denials.append(Denial(policy.name, one.step.binding.name, held, "Forbidden", place=at.path))
            return obj
    if not one.ran:
        one.ran = True
        if policy.name not in findings.evaluated:
            findings.evaluated.append(policy.name)
    first = seen = Activation(one, world, at)
    after: dict[str, Any] | None = obj
    for i in range(len(policy.mutations)):
        if seen.stand.object is not after:
            seen = Activation(one, world, at._replace(object=after), None if findings.observer else seen)
        after = _mutation(one, i, seen, world, findings)
    if after is obj or after is None:
        return obj
    _changed(one, world, first, after, findings)
    return after if policy.mode == "enforce" else obj


def _mutation(
    one: Invocation,
    index: int,
    seen: Activation,
    world: ReviewContext,
    findings: EvaluationResult,
    *,
    alone: bool = False,
) -> dict[str, Any] | None:
    """Give the object with one mutation done; one that fails leaves it, and denies unless the failure policy is Ignore.

    Each mutation has a budget of its own. A scene that served another one has counted too much: where it runs out of
    budget a fresh one decides, `alone`.
    """
    policy, at = one.step.policy, seen.stand
    mutation = policy.mutations[index]
    try:
        result = patched(at.object, mutation, seen.mutation(mutation.expression), seen.values)
    except OutOfBudget:
        if not alone:
            return _mutation(one, index, Activation(one, world, at), world, findings, alone=True)
        error = OUT_OF_BUDGET
    except CelError as failure:
        error = f"expression '{mutation.expression.text}' resulted in error: {failure.message}"
    except MutationError as failure:
        error = str(failure)
    except Unanswered as unanswered:
        findings.unknown.append(unanswered.check)
        return at.object
    else:
        if findings.observer is not None:
            findings.saw(policy, "mutations", index, "unchanged" if result is at.object else "changed")
        return result
    findings.saw(policy, "mutations", index, "error")
    if not policy.ignore_failure:
        findings.denials.append(Denial(policy.name, one.step.binding.name, error, "Forbidden", at.path, index))
    return at.object


def _changed(
    one: Invocation, world: ReviewContext, first: Activation, after: dict[str, Any], findings: EvaluationResult
) -> None:
    """Keep the change, or, where the policy's mode is audit or warn, only tell of it."""
    policy = one.step.policy
    if policy.mode == "enforce":
        assert world.object is not None
        warning = _warning(policy, first)
        world.object = put_back(world.object, first.stand, after)
        if policy.name not in findings.changing:
            findings.changing.append(policy.name)
    else:
        warning = f"{policy.name} would change this object (mode {policy.mode})"
        findings.audit(f"{policy.name}/would-mutate", "true")
    if warning and policy.mode != "audit" and warning not in findings.warnings:
        findings.warnings.append(warning)


def _warning(policy: Policy, first: Activation) -> str:
    """Word what the policy says about its change, by its own expression on the object before it."""
    if policy.warning is None:
        return ""
    try:
        text = first.call(policy.warning)
    except (CelError, OutOfBudget) as error:
        text = f"its warning failed: {error}"
    return f"{policy.name}: {text}" if isinstance(text, str) and text else ""
