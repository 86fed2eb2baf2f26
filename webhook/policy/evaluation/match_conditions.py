"""Evaluating matchConditions. Rules: matchconditions.Matcher of the API server."""

from __future__ import annotations

from webhook.cel.budget import Budget
from webhook.cel.errors import CelError
from webhook.cel.limits import CONDITIONS_LIMIT
from webhook.policy.evaluation.activation import NO_AUTHORIZER, evaluate
from webhook.policy.evaluation.failure_policy import ConditionsFailed
from webhook.policy.evaluation.invocation import Invocation
from webhook.policy.expression import Values
from webhook.policy.facts import Unanswered
from webhook.policy.pod_templates import EvaluationTarget


def conditions_hold(invocation: Invocation, target: EvaluationTarget) -> bool:
    """Return whether the match conditions hold. Raises ConditionsFailed, where none is false, and OutOfBudget.

    Conditions see neither the Namespace nor variables.
    """
    policy, result = invocation.policy, invocation.result
    total, call = policy.cost_limits
    budget = Budget(total if total < CONDITIONS_LIMIT else CONDITIONS_LIMIT, call)
    context = invocation.context
    check, resource = context.authorizers() if invocation.bound.uses_authorizer else NO_AUTHORIZER
    values: Values = (target.object, target.old, context.request.attributes, None, check, resource)
    if policy.param_kind is not None:
        values = (*values[:4], invocation.param, check, resource)
    errors = []
    for i, condition in enumerate(policy.conditions):
        try:
            held = evaluate(condition.expression, values, budget)
        except CelError as error:
            errors.append(f"expression '{condition.expression.text}' resulted in error: {error.message}")
            result.saw(policy, "matchConditions", i, "error")
            continue
        except Unanswered as unanswered:
            result.unknown.append(unanswered.question)
            return False
        if result.observer is not None:
            result.saw(policy, "matchConditions", i, "true" if held is True else "false")
        if held is False:
            return False
    if errors:
        raise ConditionsFailed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return True
