"""What the expressions of one policy see at one place, and what they may still cost together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from webhook.cel.compose import TYPE_NAME
from webhook.cel.errors import CelError, EvalError
from webhook.cel.operators import MISSING
from webhook.cel.program import CONDITIONS_LIMIT, POLICY_LIMIT, Budget
from webhook.cel.types import Type, object_type
from webhook.policy.authorizer import Unanswered
from webhook.policy.expand import Stand
from webhook.policy.expression import Expression, OutOfBudget, Values
from webhook.policy.findings import Findings
from webhook.policy.model import Policy
from webhook.policy.reads import unchanged
from webhook.policy.steps import Step
from webhook.policy.world import World

VARIABLES: Final = object_type(TYPE_NAME)
_NOBODY: Final = (None, None)
OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


@dataclass(slots=True)
class Run:
    """A step with one parameter, and what became of it.

    `ran`: its conditions held somewhere. `settled` is the object that it last left unchanged. `scenes` are all there
    were, `last` has the last one of each place.
    """

    step: Step
    param: dict[str, Any] | None = None
    ran: bool = False
    settled: Any = None
    scenes: list[Scene] = field(default_factory=list)
    last: dict[Any, Scene] = field(default_factory=dict)

    def close(self) -> None:
        """Let go of what refers to itself, so that nothing is left to the garbage collector."""
        for scene in self.scenes:
            scene.values = ()
            scene.before = None
            scene.budget.noted.clear()


class Scene:
    """The values of a policy's expressions; it is itself the value of `variables`.

    A variable is computed when it is first asked for, and kept; an error is kept as well, and worded as the API server
    words it. A scene that follows one `before` it (the object was changed) takes over what that one computed from
    parts of the object that are still the very same. It goes on with that one's budget, so that what it spends counts
    for too much, never for too little.
    """

    __slots__ = ("_failed", "_known", "before", "budget", "stand", "step", "values")
    cel_type: ClassVar[Type] = VARIABLES

    def __init__(self, one: Run, world: World, at: Stand, before: Scene | None = None) -> None:
        self.step = step = one.step
        self.stand, self.before = at, before
        self.budget: Budget = Budget(POLICY_LIMIT) if before is None else before.budget
        self._known: dict[Any, Any] = {}
        self._failed: dict[str, CelError] | None = None
        check, resource = world.authorizers() if step.asks else _NOBODY
        seen = at.object, at.old, world.attributes, world.namespace(), self
        param = () if step.policy.param_kind is None else (one.param,)
        self.values: Values = (*seen, *param, check, resource)
        one.scenes.append(self)

    def call(self, expression: Expression) -> Any:
        """Evaluate an expression. Raises CelError, OutOfBudget, Unanswered."""
        return expression.call(self.values, self.budget)

    def mutation(self, expression: Expression) -> Any:
        """Evaluate a mutation's expression, and keep the value. Raises CelError, OutOfBudget, Unanswered."""
        value = self._taken_over(expression, expression)
        if value is MISSING:
            value = expression.call(self.values, self.budget)
        self._known[expression] = value
        return value

    def cel_find(self, name: Any) -> Any:
        """Give a variable's value; MISSING where there is none of that name. Raises CelError where it failed."""
        value = self._known.get(name, MISSING)
        return self._computed(name) if value is MISSING else value

    def _computed(self, name: Any) -> Any:
        expression = self.step.policy.variables.get(name)
        if expression is None:
            return MISSING
        if self._failed is not None and name in self._failed:
            raise self._failed[name].with_traceback(None)
        value = self._taken_over(name, expression)
        if value is MISSING:
            try:
                value = expression.call(self.values, self.budget)
            except CelError as error:
                failure = EvalError(f'composited variable "{name}" fails to evaluate: {error.message}')
                self._failed = {**(self._failed or {}), name: failure}
                raise failure from None
        self._known[name] = value
        return value

    def _taken_over(self, key: Any, expression: Expression) -> Any:
        """Give the value that the scene before has, if all that the expression reads is still the same."""
        before = self.before
        if before is None:
            return MISSING
        value = before._known.get(key, MISSING)
        if value is MISSING or not unchanged(before.stand.object, self.stand.object, expression.reads):
            return MISSING
        return value


def conditions_hold(one: Run, world: World, at: Stand, findings: Findings) -> str | bool:
    """Test the match conditions: False where the policy is to be skipped; a text is the errors, where none is false.

    Rules: matchconditions.Matcher of the API server; conditions see neither the Namespace nor variables.
    """
    policy = one.step.policy
    check, resource = world.authorizers() if one.step.asks else _NOBODY
    values: Values
    if policy.param_kind is None:
        values = (at.object, at.old, world.attributes, None, check, resource)
    else:
        values = (at.object, at.old, world.attributes, None, one.param, check, resource)
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
    return _of_errors(policy, errors) if errors else True


def _of_errors(policy: Policy, errors: list[str]) -> str | bool:
    if policy.ignore_failure:
        return False
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
