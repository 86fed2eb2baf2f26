"""Evaluating mutating policies, in the order of their names, with one round of reinvocation.

Rules: the dispatcher of the API server's mutating policy plugin. Its order is not defined; ours is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from webhook.cel.errors import CelError, Interrupted
from webhook.documents import Path as Place
from webhook.jobs.normalise import normalise_template
from webhook.kube.equality import same
from webhook.policy.dependencies.reads import Path
from webhook.policy.evaluation.activation import Activation
from webhook.policy.evaluation.failure_policy import OUT_OF_BUDGET, error_counts, failure_of
from webhook.policy.evaluation.invocation import Invocation, invocations
from webhook.policy.evaluation.match_conditions import conditions_hold
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import Expression, OutOfBudget, Values
from webhook.policy.facts import Unanswered
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.model import Mutation
from webhook.policy.patching.apply_configuration import merged
from webhook.policy.patching.apply_json_patch import InternalError, patched
from webhook.policy.patching.native_values import MutationError
from webhook.policy.pod_templates import EvaluationTarget, Targets

_MISSING: Final = object()


def mutate(policies: Sequence[BoundPolicy], context: ReviewContext) -> dict[str, Any] | None:
    """Return the object as the policies leave it; what they did not touch is shared with the request's.

    In the second round those that may be invoked again are, where another policy has since changed what their mutations
    read or write (docs/decisions/0064, 0106).
    """
    targets = context.targets
    if targets.object is None:
        return None
    done = list(invocations(policies, context))
    for invocation in done:
        invoke(invocation)
    before = targets.object
    again = [invocation for invocation in done if invocation.ran and invocation.policy.reinvoke]
    for invocation in again:
        invoke(invocation)
    if targets.object is not before and not context.result.denials:
        _look_for_oscillation(again, context)
    context.close()
    return targets.object


def _look_for_oscillation(again: Sequence[Invocation], context: ReviewContext) -> None:
    """Try another round on a copy of the context: whoever still changes something will never come to rest."""
    trial = context.copy()
    for invocation in again:
        before = trial.targets.object
        invoke(invocation.again(trial))
        if trial.targets.object is not before:
            context.result.oscillating.append(invocation.policy.name)
    trial.close()


def invoke(invocation: Invocation) -> None:
    """Carry out one mutating policy on all its targets that are not at rest, and put the changes into the object."""
    bound, context, policy, left = invocation.bound, invocation.context, invocation.policy, invocation.left
    targets = context.targets
    for target in (targets.templates or targets.pod_templates()) if bound.expanded else targets.whole:
        obj = target.object
        if obj is None or not target.writable or (bound.selecting and not bound.selects(target)):
            continue
        at_rest = left.get(target.path)
        if at_rest is not None and (at_rest[0] is obj or all_unchanged(at_rest[0], obj, at_rest[1])):
            continue
        left[target.path] = obj, bound.touches
        try:
            if not policy.conditions or conditions_hold(invocation, target):
                left[target.path] = _carried_out(invocation, target, obj), bound.mutations_touch
        except Unanswered as unanswered:
            invocation.result.unknown.append(unanswered.question)
        except (Exception, Interrupted) as error:
            if text := failure_of(policy, error, context.request):
                invocation.deny(target, text)


def _carried_out(invocation: Invocation, target: EvaluationTarget, obj: dict[str, Any]) -> dict[str, Any]:
    """Do all mutations of a policy on one target: give what is there afterwards; `obj` is what was there before.

    Where the policy's mode is audit or warn, what it would change is told, and not kept.
    """
    policy, result = invocation.policy, invocation.result
    invocation.ran = True
    result.evaluated[policy.name] = None
    first = last = None
    after = obj
    for i in range(len(policy.mutations)):
        last, after = _mutated(invocation, target, i, after, last)
        first = first or last
    if first is None or after is obj:
        return obj
    if policy.mode == "enforce":
        if policy.warning is not None and (text := _warning(policy.warning, first)):
            result.warn(f"{policy.name}: {text}")
        result.changing[policy.name] = None
        return invocation.context.targets.put_back(target, after) or obj
    result.audit(f"{policy.name}/would-mutate", "true")
    if policy.mode == "warn":
        result.warn(f"{policy.name} would change this object (mode warn)")
    return obj


def _mutated(
    invocation: Invocation, target: EvaluationTarget, index: int, obj: dict[str, Any], last: Activation | None
) -> tuple[Activation, dict[str, Any]]:
    """Return the object with one mutation applied; a failed one leaves it.

    Each mutation has a budget of its own. The activation of the `last` one, which goes on, has counted too much: where
    it runs out of budget a fresh one decides.
    """
    policy, result, mutation = invocation.policy, invocation.result, invocation.policy.mutations[index]
    if last is not None and last.object is obj:
        activation = last
    else:
        activation = Activation(invocation, target, obj)
        if last is not None and result.observer is None:
            _follow(last, activation)
    try:
        value = activation.evaluate(mutation.expression)
        after = _changed(mutation, obj, value, activation.values, invocation.context.targets, target.path)
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
    if error_counts(policy):
        invocation.deny(target, error, index=index)
    return activation, obj


def _changed(
    mutation: Mutation, obj: dict[str, Any], value: Any, given: Values, targets: Targets, path: Place | None
) -> dict[str, Any]:
    """Return the object with what a mutation's expression gave. Raises MutationError.

    Quantities that it gave as numbers are texts in a template, as they would be in the Pod that it stands for; in those
    of a job too, whose kind the API server may not know.
    """
    whole = path is None
    after = merged(obj, value, given, whole=whole) if mutation.apply else patched(obj, value, given, whole=whole)
    if after is obj or after.get("spec") is obj.get("spec"):
        return after
    texts = targets.normalised(after) if whole else normalise_template(after)
    return obj if texts is not after and same(obj, texts) else texts


def _follow(last: Activation, activation: Activation) -> None:
    """Continue with an activation after the last one, whose object was changed.

    It takes over the variables that were computed from parts of the object which are still the very same. It goes on
    with that one's budget, so that what it spends counts for too much, never for too little.
    """
    activation.budget = last.budget
    for name, value in last.known.items():
        if all_unchanged(last.object, activation.object, last.policy.variables[name].reads):
            activation.known[name] = value


def all_unchanged(before: Any, after: Any, paths: Iterable[Path]) -> bool:
    """Return whether what stands at each path is the very same in both objects, or is missing at the same step."""
    if before is after:
        return True
    for path in paths:
        old, new = before, after
        for step in path:
            if old is new:
                break
            if type(old) is not dict or type(new) is not dict:
                return False
            old, new = old.get(step, _MISSING), new.get(step, _MISSING)
        if old is not new:
            return False
    return True


def _warning(expression: Expression, first: Activation) -> str:
    """Word what the policy says about its change, by its own expression on the object before it."""
    try:
        text = first.evaluate(expression)
    except (CelError, OutOfBudget) as error:
        return f"its warning failed: {error}"
    return text if isinstance(text, str) else ""
