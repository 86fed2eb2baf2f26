"""The steps that validating and mutating share: pick the policies, bindings, parameters and stands; test conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

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


class Invocation(NamedTuple):
    """A policy with one of its bindings and one parameter; `takes` chooses the stands by their labels."""

    policy: Policy
    entry: Entry
    binding: Binding
    takes: Callable[[Stand], bool]
    param: dict[str, Any] | None


def invocations(entries: Sequence[Entry], world: World, findings: Findings) -> Iterator[Invocation]:
    """Give what is to be evaluated for a request, in the order of the policies' names.

    A binding whose parameters cannot be had becomes a denial, unless the failure policy is Ignore.
    """
    request, labels = world.request, world.namespace_labels
    for entry in entries:
        policy = entry.policy
        if not (entry.site.open or entry.site.holds(request, labels)) or (policy.skip_owned and world.owned()):
            continue
        for binding, site in entry.bindings:
            if not (site is None or site.open or site.holds(request, labels)):
                continue
            if policy.param_kind is None:
                yield Invocation(policy, entry, binding, _taker(entry, site), None)
                continue
            try:
                params = collect(policy, binding, request.namespace, world.facts)
            except ParamError as error:
                configuration_error(policy, binding, str(error), findings)
                continue
            for param in params:
                yield Invocation(policy, entry, binding, _taker(entry, site), param)


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

    __slots__ = ("budget", "stand", "values", "variables")

    def __init__(self, invocation: Invocation, world: World, at: Stand) -> None:
        policy = invocation.policy
        self.stand = at
        self.budget = budget = Budget(POLICY_LIMIT)
        self.variables = variables = Variables(policy.variables, budget)
        _, _, obj, old = at
        request, namespace, check, resource = world.context()
        values: Values
        if policy.param_kind is None:
            values = (obj, old, request, namespace, variables, check, resource)
        else:
            values = (obj, old, request, namespace, variables, invocation.param, check, resource)
        self.values = variables.values = values

    def close(self) -> None:
        """Let go of what refers to itself, so that nothing is left to the garbage collector."""
        self.budget.noted.clear()
        self.variables.values = ()

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
    request, _, check, resource = world.context()
    values = (at.object, at.old, request, None, *param, check, resource)
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
