"""What each policy takes, measured in some reviews: its time, and what its expressions cost.

A review whose time is measured takes half as long again, one whose costs are counted ten times as long: so few are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from webhook.policy.evaluation.observers import Observer
from webhook.policy.model import Policy

TIMED_ONE_IN: Final = 64
"""One review in so many is timed."""
COUNTED_ONE_IN: Final = 1024
"""Of one review in so many the costs are counted: each expression is evaluated once more, by the interpreter."""
PolicyKey = tuple[str, bool]
"""Name of a policy, and whether it changes objects."""


@dataclass(slots=True)
class PolicyTime:
    """Over the measured reviews that reached a policy: how many, and seconds in all and at most."""

    reviews: int = 0
    seconds: float = 0.0
    slowest: float = 0.0


@dataclass(slots=True)
class PolicyCost:
    """Over the counted evaluations of a policy on one object: how many, and cost units in all."""

    evaluations: int = 0
    units: int = 0


class ReviewTimer:
    """Hears of each clause of one review as it is done, and adds the time since the last to its policy."""

    def __init__(self, times: Mapping[PolicyKey, PolicyTime]) -> None:
        self._times, self._last = times, perf_counter()
        self._here: dict[PolicyKey, float] = {}

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take the time of a clause."""
        now, key = perf_counter(), (policy.name, policy.mutating)
        time, spent = self._times[key], now - self._last
        if key not in self._here:
            time.reviews += 1
        self._here[key] = whole = self._here.get(key, 0.0) + spent
        time.seconds += spent
        time.slowest = max(time.slowest, whole)
        self._last = now


class CostCounter:
    """Hears what the expressions of each policy cost in one review."""

    def __init__(self, costs: Mapping[PolicyKey, PolicyCost]) -> None:
        self._costs = costs

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take no note."""

    def spent(self, policy: Policy, units: int) -> None:
        """Add what a policy's expressions cost on one object."""
        cost = self._costs[policy.name, policy.mutating]
        cost.evaluations += 1
        cost.units += units


class PolicyMeasures(Collector):
    """What was measured since this process started, by policy; it does not grow beyond those that were in force.

    `compiled` gives the policies in force whose expressions were compiled.
    """

    def __init__(self, compiled: Callable[[], Iterable[Policy]] = tuple) -> None:
        self.times: defaultdict[PolicyKey, PolicyTime] = defaultdict(PolicyTime)
        self.costs: defaultdict[PolicyKey, PolicyCost] = defaultdict(PolicyCost)
        self._compiled = compiled
        self._reviews = 0

    def watch(self) -> Observer | None:
        """Return the observer of the next review, or None: some are timed, fewer counted."""
        self._reviews += 1
        if self._reviews % TIMED_ONE_IN:
            return None
        return ReviewTimer(self.times) if self._reviews % COUNTED_ONE_IN else CostCounter(self.costs)

    def collect(self) -> Iterator[Metric]:
        """Yield all families, for a registry."""
        words = f"Time of the policy's expressions, measured in one review of {TIMED_ONE_IN}."
        times = SummaryMetricFamily("sluice_policy_duration_seconds", words, labels=["policy"])
        for name, (reviews, seconds) in _sums({k: (t.reviews, t.seconds) for k, t in self.times.items()}).items():
            times.add_metric([name], int(reviews), seconds)
        yield times
        words = f"CEL cost units of the policy's expressions on one object, counted in one review of {COUNTED_ONE_IN}."
        costs = SummaryMetricFamily("sluice_policy_cost_units", words, labels=["policy"])
        for name, (count, units) in _sums({k: (c.evaluations, c.units) for k, c in self.costs.items()}).items():
            costs.add_metric([name], int(count), units)
        yield costs
        words = "Expressions that compiled code left to the interpreter, which takes many times as long."
        left = CounterMetricFamily("sluice_policy_expressions_interpreted", words, labels=["policy"])
        counts: defaultdict[str, int] = defaultdict(int)
        for policy in self._compiled():
            counts[policy.name] += sum(expression.program.interpreted for expression in policy.expressions())
        for name, interpreted in sorted(counts.items()):
            left.add_metric([name], interpreted)
        yield left


def _sums(figures: Mapping[PolicyKey, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Add up what a validating and a mutating policy of one name took, by name."""
    sums: dict[str, tuple[float, float]] = {}
    for (name, _), (count, total) in sorted(figures.items()):
        before = sums.get(name, (0, 0.0))
        sums[name] = before[0] + count, before[1] + total
    return sums
