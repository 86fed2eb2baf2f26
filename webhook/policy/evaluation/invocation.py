"""A bound policy that is carried out for a request, with a parameter: what validating and mutating share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.documents import Path as Place
from webhook.policy.dependencies.reads import Path
from webhook.policy.evaluation.failure_policy import configuration_error
from webhook.policy.evaluation.params import ParamError, params_of
from webhook.policy.evaluation.result import Denial
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.facts import FactError, Unanswered
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.pod_templates import EvaluationTarget


class Invocation:
    """A bound policy with one parameter in the context of a request, and what became of it.

    `ran`: its conditions held somewhere. `left` is what it left behind at each place, and what another has to change
    there until it is invoked again.
    """

    __slots__ = ("binding", "bound", "context", "left", "param", "policy", "ran", "result")

    def __init__(self, bound: BoundPolicy, context: ReviewContext, param: dict[str, Any] | None = None) -> None:
        self.bound, self.context, self.param = bound, context, param
        self.policy, self.binding, self.result = bound.policy, bound.binding, context.result
        self.ran = False
        self.left: dict[Place | None, tuple[dict[str, Any], tuple[Path, ...]]] = {}

    def again(self, context: ReviewContext) -> Invocation:
        """Return the same invocation in another context, not carried out yet."""
        return Invocation(self.bound, context, self.param)

    def deny(self, target: EvaluationTarget, message: str, reason: str = "Forbidden", index: int = -1) -> None:
        """Refuse the request."""
        self.result.denials.append(Denial(self.policy.name, self.binding.name, message, reason, target.path, index))


def invocations(policies: Sequence[BoundPolicy], context: ReviewContext) -> Iterator[Invocation]:
    """Yield what is to be evaluated for a request, in the order of the policies' names.

    A binding whose parameters cannot be had fails by the failurePolicy.
    """
    for bound in policies:
        policy = bound.policy
        unsure = (policy.skip_unmanaged and context.held is not True) or (
            policy.skip_owned and context.owned is not False
        )
        if unsure and _skipped(bound, context):
            continue
        kind = policy.param_kind
        if kind is None:
            yield Invocation(bound, context)
            continue
        try:
            params = params_of(kind, bound.binding.param_ref, context)
        except ParamError as error:
            configuration_error(policy, bound.binding, str(error), context)
            continue
        for param in params:
            yield Invocation(bound, context, param)


def _skipped(bound: BoundPolicy, context: ReviewContext) -> bool:
    """Return whether a policy leaves this object out: no queue holds it, or it is owned. Not known yet is yes."""
    policy = bound.policy
    try:
        if policy.skip_unmanaged and context.held is not True and not context.is_held():
            return True
        return policy.skip_owned and context.owned is not False and context.look_for_owner()
    except Unanswered as unanswered:
        context.result.unknown.append(unanswered.question)
    except FactError as error:
        configuration_error(bound.policy, bound.binding, f"failed to configure policy: {error}", context)
    return True
