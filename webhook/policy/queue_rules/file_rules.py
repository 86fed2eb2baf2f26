"""The rules of files as the queue core asks them: one function a rule point, and which of it reads what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook import cel
from webhook.policy.queue_rules.compile import Call, Compiled, Origin
from webhook.queue.model import ClusterQueue, LocalQueue, Workload
from webhook.queue.rules import AdmitDenial, Departure, Shares, UsageFacts


@dataclass(frozen=True, slots=True)
class AdmitCondition:
    """One condition of `admit`; `text` gives the message where it is an expression."""

    expression: Compiled
    reason: str
    message: str
    text: Compiled | None


@dataclass(frozen=True, slots=True)
class EvictCondition:
    """One reason to evict; `not_before` gives from when on, None stands for at once; `text` as in AdmitCondition."""

    reason: str
    expression: Compiled
    not_before: Compiled | None
    message: str
    text: Compiled | None

    def rules(self) -> tuple[Compiled, ...]:
        """Return its expressions."""
        return tuple(rule for rule in (self.expression, self.not_before, self.text) if rule is not None)


def _not_asked(*_: Any) -> Any:
    raise AssertionError("only fair sharing asks this, and rules are not loaded with it where they lack the point")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FileRules:
    """`Rules` of the queue core: settings, and a function for each rule point.

    `digest` is that of the files, with the parameters and settings that go before theirs.
    """

    digest: str
    fair: bool
    strategies: tuple[str, ...]
    partial: bool
    recompute: bool
    half_life: int
    sampling: int
    resource_weights: Mapping[str, float]
    metered: bool
    hold: bool
    failures: tuple[type[Exception], ...]
    conditions: tuple[AdmitCondition, ...]
    evictions: tuple[EvictCondition, ...]
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
    spares: Callable[[ClusterQueue], bool]
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

    def admit(self, workload: Workload, queue: ClusterQueue, facts: UsageFacts, now: int) -> AdmitDenial | None:
        """Return the first condition that does not hold."""
        values = (workload, queue, facts, now)
        for condition in self.conditions:
            if condition.expression.call(*values) is not True:
                message = condition.text.call(*values) if condition.text else condition.message
                return AdmitDenial(condition.reason, str(message))
        return None

    def evict(self, workload: Workload, queue: ClusterQueue, local: LocalQueue, now: int) -> Departure | None:
        """Return the first reason that holds now, else the one that does soonest; one that fails hides no other."""
        values = (workload, queue, local, now)
        found: tuple[int, EvictCondition] | None = None
        failed: cel.EvalError | None = None
        for eviction in self.evictions:
            try:
                if eviction.expression.call(*values) is not True:
                    continue
                at = eviction.not_before.call(*values) if eviction.not_before is not None else 0
            except cel.EvalError as error:
                failed = failed or error
                continue
            if at <= now:
                message = eviction.text.call(*values) if eviction.text else eviction.message
                return Departure(eviction.reason, 0, str(message))
            if found is None or at < found[0]:
                found = at, eviction
        if found is None and failed is not None:
            raise failed
        return None if found is None else Departure(found[1].reason, found[0])

    def allowed(self, strategy: str, shares: Shares) -> bool:
        """Ask the comparison of this name."""
        return bool(self.comparisons[strategy](shares))

    def failed(self, error: Exception) -> str:
        """Return the rule that failed, as `file:line:column: rule path: why`."""
        if not isinstance(error, cel.EvalError) or not isinstance(error.program, cel.Program):
            return str(error)
        origin = self.origins.get(error.program)
        return str(error) if origin is None else f"{origin.name(error.offset)}: {error.message}"
