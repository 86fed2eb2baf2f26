"""The rules of files as the queue core asks them: one function a rule point, and which of it reads what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webhook import cel
from webhook.policy.queue_rules.compile import Call, Compiled, Origin
from webhook.queue.model import ClusterQueue, Workload
from webhook.queue.rules import Denial, Facts, Shares


@dataclass(frozen=True, slots=True)
class AdmitCondition:
    """One condition of `admit`; `text` gives the message where it is an expression."""

    expression: Compiled
    reason: str
    message: str
    text: Compiled | None


def _not_asked(*_: Any) -> Any:
    raise AssertionError("only fair sharing asks this, and rules are not loaded with it where they lack the point")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FileRules:
    """`Rules` of the queue core: settings, and a function for each rule point."""

    fair: bool
    strategies: tuple[str, ...]
    partial: bool
    recompute: bool
    half_life: int
    sampling: int
    resource_weights: Mapping[str, float]
    hold: bool
    failures: tuple[type[Exception], ...]
    conditions: tuple[AdmitCondition, ...]
    comparisons: Mapping[str, Call]
    reads: Mapping[str, frozenset[str]]
    clock: Mapping[str, int]
    usage_apart: bool
    origins: Mapping[cel.Program, Origin]
    order: Call
    across: Call
    strict: Call
    reserves: Call
    reserved: Call
    yields: Call
    park: Call
    guaranteed: Call
    available: Call
    most: Call
    borrows: Call
    eligible: Call
    preference: Call
    stop: Call
    may_preempt: Call
    reach: Call
    candidate: Call
    victim_order: Call
    attempts: Call
    while_borrowing: Call
    ratio: Call
    share: Call
    requeue: Call
    tournament: Call = _not_asked
    entitled: Call = _not_asked

    @property
    def conditional(self) -> bool:
        """Whether there is any condition of `admit`."""
        return bool(self.conditions)

    def admit(self, workload: Workload, queue: ClusterQueue, facts: Facts, now: int) -> Denial | None:
        """Give the first condition that does not hold."""
        values = (workload, queue, facts, now)
        for condition in self.conditions:
            if condition.expression.call(*values) is not True:
                message = condition.text.call(*values) if condition.text else condition.message
                return Denial(condition.reason, str(message))
        return None

    def allowed(self, strategy: str, shares: Shares) -> bool:
        """Ask the comparison of this name."""
        return bool(self.comparisons[strategy](shares))

    def failed(self, error: Exception) -> str:
        """Say which rule failed, as `file:line:column: rule path: why`."""
        if not isinstance(error, cel.EvalError) or not isinstance(error.program, cel.Program):
            return str(error)
        origin = self.origins.get(error.program)
        return str(error) if origin is None else f"{origin.name(error.offset)}: {error.message}"
