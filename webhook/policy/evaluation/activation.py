"""What the expressions of one policy see on one target, and what they may still cost together."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from webhook.cel.budget import Budget
from webhook.cel.compose import TYPE_NAME
from webhook.cel.errors import CelError, EvalError, Interrupted
from webhook.cel.keys import MISSING
from webhook.cel.types import Type, object_type
from webhook.policy.evaluation.invocation import Invocation
from webhook.policy.expression import Expression, OutOfBudget, Values
from webhook.policy.pod_templates import EvaluationTarget

VARIABLES: Final = object_type(TYPE_NAME)
NO_AUTHORIZER: Final = (None, None)


def evaluate(expression: Expression, values: Values, budget: Budget) -> Any:
    """Evaluate an expression. Raises CelError, Unanswered, and OutOfBudget where the budget is spent."""
    try:
        value = expression.program.metered(values, budget)
    except CelError:
        if budget.remaining < 0:
            raise OutOfBudget from None
        raise
    except Interrupted as stop:
        raise CelError(str(stop)) from None
    if budget.remaining < 0:
        raise OutOfBudget
    return value


class Activation:
    """The values of a policy's expressions; it is itself the value of `variables`.

    A variable is computed when it is first asked for, and is `known` from then on; an error is kept as well, and worded
    as the API server words it.
    """

    __slots__ = ("_failed", "_variables", "budget", "known", "object", "policy", "values")
    cel_type: ClassVar[Type] = VARIABLES

    def __init__(self, invocation: Invocation, target: EvaluationTarget, obj: dict[str, Any] | None) -> None:
        """Begin on a target; `obj` is what is there now."""
        context, policy = invocation.context, invocation.policy
        self.object, self.policy = obj, policy
        total, call = policy.cost_limits
        self.budget = Budget(total, call)
        self._variables = policy.variables
        self.known: dict[str, Any] = {}
        if policy.settings:
            switches = context.facts.switches
            self.known = {name: switches[name] for name in policy.settings if name in switches}
        self._failed: dict[str, str] | None = None
        """Messages of variables that failed: an error would hold the frames that it came through, and the object."""
        request = context.request.attributes
        check, resource = context.authorizers() if invocation.bound.uses_authorizer else NO_AUTHORIZER
        self.values: Values
        if policy.param_kind is None:
            self.values = (obj, target.old, request, context.namespace, self, check, resource)
        else:
            self.values = (obj, target.old, request, context.namespace, self, invocation.param, check, resource)
        context.activations.append(self)

    def close(self) -> None:
        """Break reference cycles, so that nothing is left to the garbage collector."""
        self.values = ()
        self.budget.noted.clear()

    def evaluate(self, expression: Expression) -> Any:
        """Evaluate an expression. Raises CelError, OutOfBudget, Unanswered."""
        return evaluate(expression, self.values, self.budget)

    def cel_equal(self, other: object) -> bool:
        """Return whether the other is this object. Raises CelError if not, as the API server's type has no equality."""
        if other is self:
            return True
        raise CelError("no such overload")

    def cel_find(self, name: Any) -> Any:
        """Return a variable's value; MISSING where there is none of that name. Raises CelError where it failed."""
        value = self.known.get(name, MISSING)
        if value is not MISSING:
            return value
        expression = self._variables.get(name)
        if expression is None:
            return MISSING
        if self._failed is not None and name in self._failed:
            raise EvalError(self._failed[name])
        try:
            value = self.known[name] = expression.program.metered(self.values, self.budget)
        except CelError as error:
            failure = f'composited variable "{name}" fails to evaluate: {error.message}'
            self._failed = {**(self._failed or {}), name: failure}
            if self.budget.remaining < 0:
                raise OutOfBudget from None
            raise EvalError(failure) from None
        if self.budget.remaining < 0:
            raise OutOfBudget
        return value
