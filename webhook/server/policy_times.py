"""How long each policy takes, measured in one review of some: a review that is measured takes half as long again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from webhook.cel.program import exact_evaluations
from webhook.policy.evaluation.result import Observer
from webhook.policy.model import Policy

TIMED: Final = 64
"""One review in so many is measured."""
PolicyKey = tuple[str, bool]
"""Name of a policy, and whether it changes objects."""


@dataclass(slots=True)
class PolicyTime:
    """Over the measured reviews that reached a policy: how many, and seconds in all and at most."""

    reviews: int = 0
    seconds: float = 0.0
    slowest: float = 0.0


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


class PolicyTimes(Collector):
    """What was measured since this process started, by policy; it does not grow beyond those that were in force."""

    def __init__(self) -> None:
        self.by_policy: defaultdict[PolicyKey, PolicyTime] = defaultdict(PolicyTime)
        self._reviews = 0

    def watch(self) -> Observer | None:
        """Give who measures the next review, for one in TIMED."""
        self._reviews += 1
        return ReviewTimer(self.by_policy) if self._reviews % TIMED == 0 else None

    def collect(self) -> Iterator[Metric]:
        """Give all families, for a registry."""
        words = f"Time of the policy's expressions, measured in one review of {TIMED}."
        family = SummaryMetricFamily("sluice_policy_duration_seconds", words, labels=["policy"])
        sums: defaultdict[str, PolicyTime] = defaultdict(PolicyTime)
        for (name, _), time in sorted(self.by_policy.items()):
            sums[name].reviews += time.reviews
            sums[name].seconds += time.seconds
        for name, time in sums.items():
            family.add_metric([name], time.reviews, time.seconds)
        yield family
        words = "Expressions that compiled code left to the interpreter, which takes many times as long."
        yield CounterMetricFamily("sluice_expressions_interpreted", words, value=exact_evaluations())
