"""The steps that validating and mutating share: pick the policies, bindings, parameters and stands; test conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.program import CONDITIONS_LIMIT, POLICY_LIMIT, Budget
from webhook.policy.authorizer import Unanswered
from webhook.policy.expand import Stand, stands, whole
from webhook.policy.expression import Expression, OutOfBudget, Values
from webhook.policy.findings import Denial, Findings
from webhook.policy.index import Entry
from webhook.policy.model import Binding, Policy
from webhook.policy.params import ParamError, collect
from webhook.policy.variables import Variables
from webhook.policy.world import World

OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A policy with one of its bindings and one parameter; `site` takes the stands by their labels."""

    entry: Entry
    binding: Binding
    takes: Callable[[Stand], bool]
    param: dict[str, Any] | None

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.entry.policy


def invocations(entries: Sequence[Entry], world: World, findings: Findings) -> Iterator[Invocation]:
    """Give what is to be evaluated for a request, in the order of the policies' names.

    A binding whose parameters cannot be had becomes a denial, unless the failure policy is Ignore.
    """
    request = world.request
    for entry in entries:
        policy = entry.policy
        if not entry.site.holds(request, world.namespace_labels) or (policy.skip_owned and world.owned()):
            continue
        for binding, site in entry.bindings:
            if site is not None and not site.holds(request, world.namespace_labels):
                continue
            try:
                params = collect(policy, binding, request.namespace, world.facts)
            except ParamError as error:
                configuration_error(policy, binding, str(error), findings)
                continue
            for param in params:
                yield Invocation(entry, binding, _taker(entry, site), param)


def _taker(entry: Entry, site: Any) -> Callable[[Stand], bool]:
    if entry.site.object_selector is None and (site is None or site.object_selector is None):
        return _any_stand
    return lambda at: entry.site.takes(at.object, at.old) and (site is None or site.takes(at.object, at.old))


def _any_stand(at: Stand) -> bool:
    return True


def configuration_error(policy: Policy, binding: Binding, message: str, findings: Findings) -> None:
    """Deny because a binding cannot be used; nothing comes of it under failurePolicy Ignore."""
    if not policy.ignore_failure:
        findings.denials.append(Denial(policy.name, binding.name, f"failed to configure binding: {message}"))


def stands_for(invocation: Invocation, world: World) -> tuple[Stand, ...]:
    """Give what the policy is to be evaluated on: the object, or each pod template in it."""
    found = stands(world) if invocation.entry.expanded else whole(world)
    return found if invocation.takes is _any_stand else tuple(s for s in found if invocation.takes(s))


class Scene:
    """What the expressions of one stage see, and what they may still cost together."""

    __slots__ = ("budget", "stand", "values")

    def __init__(self, invocation: Invocation, world: World, at: Stand) -> None:
        policy = invocation.policy
        self.budget, self.stand = Budget(POLICY_LIMIT), at
        variables = Variables(policy.variables, self.budget)
        param = () if policy.param_kind is None else (invocation.param,)
        self.values: Values = (
            at.object,
            at.old,
            world.attributes,
            world.namespace(),
            variables,
            *param,
            *world.authorizers(),
        )
        variables.bind(self.values)

    def call(self, expression: Expression) -> Any:
        """Evaluate an expression. Raises CelError, OutOfBudget, Unanswered."""
        return expression.call(self.values, self.budget)


def enter(invocation: Invocation, world: World, at: Stand, findings: Findings) -> Scene | str | None:
    """Test the match conditions: the scene for the rules where all hold, None where the policy is to be skipped.

    A text is the errors of conditions of which none is false. Rules: matchconditions.Matcher of the API server;
    conditions see neither the Namespace nor variables.
    """
    if invocation.policy.conditions:
        held = _conditions(invocation, world, at, findings)
        if held is not True:
            return held or None
    return Scene(invocation, world, at)


def _conditions(invocation: Invocation, world: World, at: Stand, findings: Findings) -> str | bool:
    policy = invocation.policy
    param = () if policy.param_kind is None else (invocation.param,)
    values = (at.object, at.old, world.attributes, None, *param, *world.authorizers())
    budget = Budget(CONDITIONS_LIMIT)
    errors = []
    for i, condition in enumerate(policy.conditions):
        try:
            held = condition.expression.call(values, budget)
        except CelError as error:
            errors.append(f"expression '{condition.expression.text}' resulted in error: {error.message}")
            findings.saw(policy, "matchConditions", i, "error")
            continue
        except OutOfBudget:
            return False if policy.ignore_failure else OUT_OF_BUDGET
        except Unanswered as unanswered:
            findings.unknown.append(unanswered.check)
            return False
        if findings.observer is not None:
            findings.saw(policy, "matchConditions", i, "true" if held is True else "false")
        if held is False:
            return False
    if not errors:
        return True
    if policy.ignore_failure:
        return False
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
