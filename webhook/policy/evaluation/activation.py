"""What the expressions of one policy see at one place, and what they may still cost together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from webhook.cel.compose import TYPE_NAME
from webhook.cel.errors import CelError, EvalError
from webhook.cel.operators import MISSING
from webhook.cel.program import CONDITIONS_LIMIT, POLICY_LIMIT, Budget
from webhook.cel.types import Type, object_type
from webhook.documents import Path as Place
from webhook.policy.dependencies.reads import Path, unchanged
from webhook.policy.evaluation.authorizer import Unanswered
from webhook.policy.evaluation.result import EvaluationResult
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import Expression, OutOfBudget, Values
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.model import Policy
from webhook.policy.pod_templates import EvaluationTarget

VARIABLES: Final = object_type(TYPE_NAME)
_NOBODY: Final = (None, None)
OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class Invocation:
    """A step with one parameter, and what became of it.

    `ran`: its conditions held somewhere. `left` is what it left behind at each place.
    """

    __slots__ = ("left", "param", "ran", "step")

    def __init__(self, step: BoundPolicy, param: dict[str, Any] | None = None) -> None:
        self.step, self.param = step, param
        self.ran = False
        self.left: dict[Place | None, dict[str, Any]] = {}

    def rests(self, at: EvaluationTarget) -> bool:
        """Say whether all that it reads and writes there is still as it was left."""
        left = self.left.get(at.path)
        return left is not None and all(unchanged(left, at.object, path) for path in self.step.touches)


class Activation:
    """The values of a policy's expressions; it is itself the value of `variables`.

    A variable is computed when it is first asked for, and kept; an error is kept as well, and worded as the API server
    words it. A scene that follows one `before` it (the object was changed) takes over what that one computed from
    parts of the object that are still the very same. It goes on with that one's budget, so that what it spends counts
    for too much, never for too little.
    """

    __slots__ = ("_failed", "_known", "_same", "_table", "before", "budget", "stand", "values")
    cel_type: ClassVar[Type] = VARIABLES

    def __init__(
        self, one: Invocation, world: ReviewContext, at: EvaluationTarget, before: Activation | None = None
    ) -> None:
        step = one.step
        self.stand, self.before = at, before
        self.budget: Budget = Budget(POLICY_LIMIT) if before is None else before.budget
        self._table = step.policy.variables
        self._known: dict[Any, Any] = {}
        self._failed: dict[str, CelError] | None = None
        self._same: dict[Path, bool] = {}
        request, namespace = world.context()
        check, resource = world.authorizers() if step.asks else _NOBODY
        self.values: Values
        if step.policy.param_kind is None:
            self.values = (at.object, at.old, request, namespace, self, check, resource)
        else:
            self.values = (at.object, at.old, request, namespace, self, one.param, check, resource)
        world.scenes.append(self)

    def close(self) -> None:
        """Let go of what refers to itself, so that nothing is left to the garbage collector."""
        self.values, self.before = (), None
        self.budget.noted.clear()

    def call(self, expression: Expression) -> Any:
        """Evaluate an expression. Raises CelError, OutOfBudget, Unanswered."""
        return expression.call(self.values, self.budget)

    def mutation(self, expression: Expression) -> Any:
        """Evaluate a mutation's expression, and keep the value. Raises CelError, OutOfBudget, Unanswered."""
        value = MISSING if self.before is None else self._taken_over(self.before, expression, expression.reads)
        if value is MISSING:
            value = expression.call(self.values, self.budget)
        self._known[expression] = value
        return value

    def cel_find(self, name: Any) -> Any:
        """Give a variable's value; MISSING where there is none of that name. Raises CelError where it failed."""
        value = self._known.get(name, MISSING)
        return self._computed(name) if value is MISSING else value

    def _computed(self, name: Any) -> Any:
        expression = self._table.get(name)
        if expression is None:
            return MISSING
        if self.before is not None:
            value = self._taken_over(self.before, name, expression.reads)
            if value is not MISSING:
                self._known[name] = value
                return value
        if self._failed is not None and name in self._failed:
            raise self._failed[name].with_traceback(None)
        try:
            value = self._known[name] = expression.program.metered(self.values, self.budget)
        except CelError as error:
            failure = EvalError(f'composited variable "{name}" fails to evaluate: {error.message}')
            self._failed = {**(self._failed or {}), name: failure}
            if self.budget.remaining < 0:
                raise OutOfBudget from None
            raise failure from None
        if self.budget.remaining < 0:
            raise OutOfBudget
        return value

    def _taken_over(self, before: Activation, key: Any, paths: Iterable[Path]) -> Any:
        """Give the value that the scene before has, if all that its expression reads is still the same."""
        value = before._known.get(key, MISSING)
        if value is MISSING:
            return value
        known = self._same
        for path in paths:
            same = known.get(path)
            if same is None:
                same = known[path] = unchanged(before.stand.object, self.stand.object, path)
            if not same:
                return MISSING
        return value


def conditions_hold(
    one: Invocation, world: ReviewContext, at: EvaluationTarget, findings: EvaluationResult
) -> str | bool:
    """Test the match conditions: False where the policy is to be skipped; a text is the errors, where none is false.

    Rules: matchconditions.Matcher of the API server; conditions see neither the Namespace nor variables.
    """
    policy = one.step.policy
    request, _ = world.context()
    check, resource = world.authorizers() if one.step.asks else _NOBODY
    values: Values
    if policy.param_kind is None:
        values = (at.object, at.old, request, None, check, resource)
    else:
        values = (at.object, at.old, request, None, one.param, check, resource)
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
