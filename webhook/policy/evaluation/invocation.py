"""A step that is carried out for a request, with a parameter: what validating and mutating share."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from webhook.cel.errors import Interrupted
from webhook.policy.evaluation.activation import Invocation
from webhook.policy.evaluation.params import ParamError, collect
from webhook.policy.evaluation.result import Denial, EvaluationResult
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.model import Binding, Policy
from webhook.policy.pod_templates import EvaluationTarget, whole

log = logging.getLogger(__name__)


def runs(steps: Sequence[BoundPolicy], world: ReviewContext, findings: EvaluationResult) -> Iterator[Invocation]:
    """Give what is to be evaluated for a request, in the order of the policies' names.

    A binding whose parameters cannot be had becomes a denial, unless the failure policy is Ignore.
    """
    for step in steps:
        policy = step.policy
        if policy.skip_owned and world.owned():
            continue
        if policy.param_kind is None:
            yield Invocation(step)
            continue
        try:
            params = collect(policy, step.binding, world.request.namespace, world.facts)
        except ParamError as error:
            configuration_error(policy, step.binding, str(error), findings)
            continue
        for param in params:
            yield Invocation(step, param)


def configuration_error(policy: Policy, binding: Binding, message: str, findings: EvaluationResult) -> None:
    """Deny because a policy or a binding cannot be used; nothing comes of it under failurePolicy Ignore."""
    if not policy.ignore_failure:
        findings.denials.append(Denial(policy.name, binding.name, message))


def unexpected(policy: Policy, error: BaseException) -> str:
    """Word an error that no expression may raise: a bug of ours, for the log, and this policy's failure alone."""
    if not isinstance(error, Interrupted):
        log.error("policy %s failed: this is a bug of Sluice", policy.name, exc_info=error)
    return f"the policy could not be evaluated: {error}"


def stands_for(step: BoundPolicy, world: ReviewContext) -> Sequence[EvaluationTarget]:
    """Give what the policy is to be evaluated on: the object, or each pod template in it."""
    found = world.stands() if step.expanded else whole(world.object, world.old)
    return [at for at in found if step.takes(at)] if step.selecting else found
