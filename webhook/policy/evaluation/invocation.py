"""A step that is carried out for a request, with a parameter: what validating and mutating share."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from webhook.cel.errors import Interrupted
from webhook.policy.evaluation.activation import Run
from webhook.policy.evaluation.params import ParamError, collect
from webhook.policy.evaluation.result import Denial, Findings
from webhook.policy.evaluation.review_context import World
from webhook.policy.matching.bound_policies import Step
from webhook.policy.model import Binding, Policy
from webhook.policy.pod_templates import Stand, whole

log = logging.getLogger(__name__)


def runs(steps: Sequence[Step], world: World, findings: Findings) -> Iterator[Run]:
    """Give what is to be evaluated for a request, in the order of the policies' names.

    A binding whose parameters cannot be had becomes a denial, unless the failure policy is Ignore.
    """
    for step in steps:
        policy = step.policy
        if policy.skip_owned and world.owned():
            continue
        if policy.param_kind is None:
            yield Run(step)
            continue
        try:
            params = collect(policy, step.binding, world.request.namespace, world.facts)
        except ParamError as error:
            configuration_error(policy, step.binding, str(error), findings)
            continue
        for param in params:
            yield Run(step, param)


def configuration_error(policy: Policy, binding: Binding, message: str, findings: Findings) -> None:
    """Deny because a policy or a binding cannot be used; nothing comes of it under failurePolicy Ignore."""
    if not policy.ignore_failure:
        findings.denials.append(Denial(policy.name, binding.name, message))


def unexpected(policy: Policy, error: BaseException) -> str:
    """Word an error that no expression may raise: a bug of ours, for the log, and this policy's failure alone."""
    if not isinstance(error, Interrupted):
        log.error("policy %s failed: this is a bug of Sluice", policy.name, exc_info=error)
    return f"the policy could not be evaluated: {error}"


def stands_for(step: Step, world: World) -> Sequence[Stand]:
    """Give what the policy is to be evaluated on: the object, or each pod template in it."""
    found = world.stands() if step.expanded else whole(world.object, world.old)
    return [at for at in found if step.takes(at)] if step.selecting else found
