"""Evaluating matchConditions. Rules: matchconditions.Matcher of the API server."""

from __future__ import annotations

from webhook.cel.budget import Budget
from webhook.cel.errors import CelError
from webhook.cel.limits import CONDITIONS_LIMIT
from webhook.policy.evaluation.activation import NO_AUTHORIZER, OUT_OF_BUDGET, evaluate
from webhook.policy.evaluation.invocation import Invocation
from webhook.policy.expression import OutOfBudget, Values
from webhook.policy.facts import Unanswered
from webhook.policy.model import Policy
from webhook.policy.pod_templates import EvaluationTarget


def conditions_hold(invocation: Invocation, target: EvaluationTarget) -> str | bool:
    """Test the match conditions: False where the policy is to be skipped; a text is the errors, where none is false.

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
        except OutOfBudget:
            return False if policy.ignore_failure else OUT_OF_BUDGET
        except Unanswered as unanswered:
            result.unknown.append(unanswered.question)
            return False
        if result.observer is not None:
            result.saw(policy, "matchConditions", i, "true" if held is True else "false")
        if held is False:
            return False
    return _of_errors(policy, errors) if errors else True


def _of_errors(policy: Policy, errors: list[str]) -> str | bool:
    if policy.ignore_failure:
        return False
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
