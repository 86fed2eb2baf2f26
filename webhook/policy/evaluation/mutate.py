"""Evaluating mutating policies, in the order of their names, with one round of reinvocation.

Rules: the dispatcher of the API server's mutating policy plugin. Its order is not defined; ours is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.cel.errors import CelError, Interrupted
from webhook.policy.dependencies.reads import all_unchanged
from webhook.policy.evaluation.activation import OUT_OF_BUDGET, Activation
from webhook.policy.evaluation.invocation import Invocation, invocations, unexpected
from webhook.policy.evaluation.match_conditions import conditions_hold
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import Expression, OutOfBudget
from webhook.policy.facts import Unanswered
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.patching.mutation import InternalError, MutationError, patched
from webhook.policy.pod_templates import EvaluationTarget, put_back


def mutate(policies: Sequence[BoundPolicy], context: ReviewContext) -> dict[str, Any] | None:
    """Give the object as the policies leave it; what they did not touch is shared with the request's.

    In the second round those that may be invoked again are, where another policy has since changed what they read or
    write (docs/decisions/0064).
    """
    if context.object is None:
        return None
    done = list(invocations(policies, context))
    for invocation in done:
        invoke(invocation)
    before = context.object
    again = [invocation for invocation in done if invocation.ran and invocation.policy.reinvoke]
    for invocation in again:
        invoke(invocation)
    if context.object is not before and not context.result.denials:
        _look_for_oscillation(again, context)
    context.close()
    return context.object


def _look_for_oscillation(again: Sequence[Invocation], context: ReviewContext) -> None:
    """Try another round on a copy of the context: whoever still changes something will never come to rest."""
    trial = context.copy()
    for invocation in again:
        before = trial.object
        invoke(invocation.again(trial))
        if trial.object is not before:
            context.result.oscillating.append(invocation.policy.name)
    trial.close()


def invoke(invocation: Invocation) -> None:
    """Carry out one mutating policy on all its targets that are not at rest, and put the changes into the object."""
    bound, context, left = invocation.bound, invocation.context, invocation.left
    whole = EvaluationTarget(None, True, context.object, context.old)
    for target in context.pod_templates() if bound.expanded else (whole,):
        if bound.selecting and not bound.selects(target):
            continue
        obj = target.object
        if obj is None or not target.writable:
            continue
        before = left.get(target.path)
        if before is obj or (before is not None and all_unchanged(before, obj, bound.touches)):
            continue
        left[target.path] = obj
        try:
            left[target.path] = _evaluate(invocation, target, obj)
        except Unanswered as unanswered:
            invocation.result.unknown.append(unanswered.question)
        except (Exception, Interrupted) as error:
            text = unexpected(invocation.policy, error)
            if not invocation.policy.ignore_failure:
                invocation.deny(target, text)


def _evaluate(invocation: Invocation, target: EvaluationTarget, obj: dict[str, Any]) -> dict[str, Any]:
    """Evaluate one policy on one target: give what is there afterwards; `obj` is what was there before."""
    policy = invocation.policy
    if policy.conditions:
        held = conditions_hold(invocation, target)
        if held is not True:
            if held:
                invocation.deny(target, held)
            return obj
    invocation.ran = True
    invocation.result.evaluated[policy.name] = None
    first = last = None
    after = obj
    for i in range(len(policy.mutations)):
        last, after = _mutated(invocation, target, i, after, last)
        first = first or last
    if first is None or after is obj:
        return obj
    _changed(invocation, target, first, after)
    return after if policy.mode == "enforce" else obj


def _mutated(
    invocation: Invocation, target: EvaluationTarget, index: int, obj: dict[str, Any], last: Activation | None
) -> tuple[Activation, dict[str, Any]]:
    """Give the object with one mutation done; one that fails leaves it, and denies unless the failure policy is Ignore.

    Each mutation has a budget of its own. The activation of the `last` one, which goes on, has counted too much: where
    it runs out of budget a fresh one decides.
    """
    policy, result, mutation = invocation.policy, invocation.result, invocation.policy.mutations[index]
    if last is None or last.object is not obj:
        activation = Activation(invocation, target, obj, None if result.observer else last)
    else:
        activation = last
    try:
        value = activation.mutation(mutation.expression)
        after = patched(obj, mutation, value, activation.values, whole=target.path is None)
    except OutOfBudget:
        if last is not None:
            return _mutated(invocation, target, index, obj, None)
        error = OUT_OF_BUDGET
    except CelError as failure:
        error = f"expression '{mutation.expression.text}' resulted in error: {failure.message}"
    except InternalError as failure:
        result.saw(policy, "mutations", index, "error")
        invocation.deny(target, str(failure), reason="InternalError", index=index)
        return activation, obj
    except MutationError as failure:
        error = str(failure)
    except Unanswered as unanswered:
        result.unknown.append(unanswered.question)
        return activation, obj
    else:
        if result.observer is not None:
            result.saw(policy, "mutations", index, "unchanged" if after is obj else "changed")
        return activation, after
    result.saw(policy, "mutations", index, "error")
    if not policy.ignore_failure:
        invocation.deny(target, error, index=index)
    return activation, obj


def _changed(invocation: Invocation, target: EvaluationTarget, first: Activation, after: dict[str, Any]) -> None:
    """Keep the change, or, where the policy's mode is audit or warn, only tell of it."""
    policy, context, result = invocation.policy, invocation.context, invocation.result
    if policy.mode == "enforce":
        assert context.object is not None
        warning = "" if policy.warning is None else _warning(policy.name, policy.warning, first)
        context.object = after if target.path is None else put_back(context.object, target, after)
        result.changing[policy.name] = None
    else:
        warning = f"{policy.name} would change this object (mode {policy.mode})"
        result.audit(f"{policy.name}/would-mutate", "true")
    if warning and policy.mode != "audit" and warning not in result.warnings:
        result.warnings.append(warning)


def _warning(name: str, expression: Expression, first: Activation) -> str:
    """Word what the policy says about its change, by its own expression on the object before it."""
    try:
        text = first.evaluate(expression)
    except (CelError, OutOfBudget) as error:
        text = f"its warning failed: {error}"
    return f"{name}: {text}" if isinstance(text, str) and text else ""
