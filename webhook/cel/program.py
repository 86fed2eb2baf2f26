"""Compiles a text to a `Program`, and evaluates it by its fast or exact form within the cost limit of a call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.check import checker, validators
from webhook.cel.check.checker import Checked
from webhook.cel.codegen import emitter, functions
from webhook.cel.codegen.source_writer import Unsupported
from webhook.cel.cost import estimate
from webhook.cel.env import Env
from webhook.cel.errors import EXCEEDED, BudgetError, CelError, CompileError, EvalError, Issue
from webhook.cel.interpreter.attributes import COST, Eval, Failure, Frame
from webhook.cel.interpreter.cancelling import Cancelling
from webhook.cel.interpreter.evaluators import UNBOUND
from webhook.cel.interpreter.planner import Planner
from webhook.cel.lib import memory
from webhook.cel.limits import CALL_LIMIT
from webhook.cel.ranges import Estimate
from webhook.cel.syntax import parser
from webhook.cel.syntax.nodes import Node
from webhook.cel.types import Type


def _uncalled(*_: object) -> Any:
    raise AssertionError


@dataclass(slots=True, eq=False)
class Program:
    """A compiled expression. `cost` is what the last metered evaluation spent; programs are not shared by threads."""

    text: str
    env: Env
    checked: Checked
    size: int
    names: tuple[str, ...]
    source: str = ""
    call: Callable[..., object] = field(default=_uncalled, repr=False)
    """Evaluate with variables in the order of `env.variables`, all of them. Raises EvalError. The fast form."""
    metered: Callable[[tuple[object, ...], Budget | None], object] = field(default=_uncalled, repr=False)
    """Evaluate within a budget: by the fast form where it can answer, else exactly. Raises EvalError."""
    cost: int = 0
    interpreted: int = 0
    """How often the fast form could not answer, and the exact one, which takes many times as long, did."""
    _exact: Eval | None = field(default=None, repr=False)
    _fast: functions.Fast | None = field(default=None, repr=False)
    _pick: Callable[[Mapping[str, object]], tuple[object, ...]] = field(default=_uncalled, repr=False)
    _traced: tuple[Eval, int] | None = field(default=None, repr=False)
    _estimate: Estimate | None = field(default=None, repr=False)

    @property
    def type(self) -> Type:
        """The type the checker found for the whole."""
        return self.checked.type

    @property
    def estimate(self) -> Estimate:
        """What one evaluation costs at least and at most, from the text and types alone, as the API server says it."""
        if self._estimate is None:
            self._estimate = estimate.estimate(self.checked, self.env)
        return self._estimate

    def exact(self) -> Eval:
        """Return the exact form, made when it is first asked for: most programs only ever answer by the fast one."""
        if self._exact is None:
            self._exact = Planner(self.checked, self.env).run()
        return self._exact

    def prepare(self) -> None:
        """Make the fast form, as it is called where the program comes from; where there is none, the exact one is.

        Policies call it within a budget, rules of a queue (whose environment is trusted) without one. The other way to
        call it is made when it is first used.
        """
        self._pick = _picker(self.names)
        self.metered, self.call = self._left_over, lambda *values: self._left_over(values)
        if not self.env.checked:
            return
        with suppress(Unsupported):
            self._fast = emitter.emit(self.checked, self.env)
            self._exact = None
            self.source = self._fast.counted()
            self.metered, self.call = self._metered_first, self._call_first
            (self._load_call if self.env.trusted else self._load_metered)()

    def release(self) -> None:
        """Cut what holds the program in a cycle with its own forms, so that it goes when nobody holds it: see 0147.

        For one that nobody will call any more.
        """
        self.call = self.metered = _uncalled
        self._exact = self._fast = self._traced = None

    def _load_call(self) -> None:
        assert self._fast is not None
        self.call = functions.load(self._fast.call(), self._fast, self._left_over, self)

    def _load_metered(self) -> None:
        assert self._fast is not None
        self.metered = functions.load(self.source, self._fast, self._left_over, self)

    def _call_first(self, *values: object) -> object:
        self._load_call()
        return self.call(*values)

    def _metered_first(self, values: tuple[object, ...], budget: Budget | None) -> object:
        self._load_metered()
        return self.metered(values, budget)

    def _left_over(self, values: tuple[object, ...], budget: Budget | None = None) -> object:
        """Evaluate exactly what the fast form gives up."""
        self.interpreted += 1
        return self.exactly(values, budget)

    def frame(self, values: tuple[object, ...], limit: int = CALL_LIMIT, size: int = 0) -> Frame:
        """The run-time state for these variables."""
        return [0, limit, *values, *([UNBOUND] * ((size or self.size) - len(values) - 2))]

    def evaluate(self, values: Mapping[str, object], budget: Budget | None = None) -> object:
        """Evaluate with the variables of `values`. Raises EvalError.

        The cost is metered; it is in `self.cost`, and taken from `budget` where one is given.
        """
        given = tuple(values.get(name, UNBOUND) for name in self.names)
        return self.exactly(given) if budget is None else self.metered(given, budget)

    def run(self, values: Mapping[str, object]) -> object:
        """Evaluate by name without an exact cost: the fast form, the limit per call in force. Raises EvalError."""
        try:
            given = self._pick(values)
        except KeyError:
            return self.evaluate(values)
        return self.call(*given)

    def spent(self, values: tuple[object, ...]) -> int:
        """Evaluate exactly, and give only what it cost."""
        try:
            self.exactly(values)
        except EvalError as error:
            return error.cost
        return self.cost

    def exactly(self, values: tuple[object, ...], budget: Budget | None = None) -> object:
        """The exact form: every cost unit is counted as cel-go counts it."""
        memory.reset()
        limit = CALL_LIMIT if budget is None else budget.call_limit
        frame = self.frame(values, limit)
        cost = -1
        try:
            result = self.exact()(frame)
            if frame[COST] > limit:
                raise BudgetError(EXCEEDED)
            if type(result) is Failure:
                raise CelError(result.message)
        except CelError as error:
            message, cost = error.message, frame[COST]
            if cost > limit:
                # cel-go ends at the very step that passes the limit, whatever comes of it.
                known = error.cost if isinstance(error, BudgetError) else 0
                message, cost = EXCEEDED, known or self.cancelled(values, limit)
            raise EvalError(message, lambda: self.locate(values), cost, self) from None
        except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
            raise EvalError(f"internal error: {error}", lambda: self.locate(values), frame[COST], self) from error
        finally:
            self.cost = frame[COST] if cost < 0 else cost
            if budget is not None:
                budget.remaining -= self.cost
                if budget.remaining < budget.uncounted:
                    budget.settle()
        return result

    def cancelled(self, values: tuple[object, ...], limit: int) -> int:
        """What cel-go has counted when it cancels: the cost after the step that passes the limit."""
        memory.reset()
        frame = Cancelling(self.frame(values, limit))
        with suppress(CelError):
            self.exact()(frame)
        return frame.passed

    def locate(self, values: tuple[object, ...]) -> int:
        """Where in the text the first part that fails stands."""
        failed: list[int] = []

        def observe(node: Node, _: Frame, value: object) -> None:
            if type(value) is Failure and not failed:
                failed.append(node.pos)

        planner = Planner(self.checked, self.env, observe)
        try:
            planner_eval = planner.run()
            planner_eval(self.frame(values, size=planner.size))
        except CelError:
            pass
        return failed[0] if failed else -1


def _picker(names: tuple[str, ...]) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    """The function that takes the variables out of a mapping, in order; KeyError where one is not there."""
    if len(names) > 1:
        return operator.itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)


def compile(text: str, env: Env) -> Program:
    """Compile one expression. Raises CompileError with every issue found, each at its offset."""
    root = parser.parse(text, with_macros=env.macros)
    if env.checked:
        checked = checker.check(text, root, env)
        validators.validate(text, checked)
    else:
        checked = Checked(root)
    planner = Planner(checked, env)
    try:
        exact = planner.run()
    except CelError as error:
        raise CompileError(text, (Issue(-1, error.message),), prefix="program instantiation failed: ") from None
    program = Program(text, env, checked, planner.size, tuple(env.variables), _exact=exact)
    program.prepare()
    return program
