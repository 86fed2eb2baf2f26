"""Figures of the server: counted as plain ints on the way, turned into Prometheus' form only when they are read."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from webhook.admission.verdict import Verdict

BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds. Most answers take a fraction of a millisecond; 10 s is the API server's own default limit."""

MAX_COMBINATIONS: Final = 2000
"""Combinations of labels that are counted each by itself: a sender of made-up resources cannot fill the memory."""


class Timing:
    """A histogram of seconds."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class ServerMetrics(Collector):
    """Requests, answers, failures and times of the server."""

    def __init__(self) -> None:
        self.reviews: defaultdict[tuple[str, str, str, str], int] = defaultdict(int)
        """(webhook, operation, resource, outcome): outcome is allowed, patched or denied."""
        self.timings = {"mutate": Timing(), "validate": Timing(), "convert": Timing()}
        self.failures: defaultdict[str, int] = defaultdict(int)
        """By kind: bad_request, busy, disconnected, internal, interrupted, questions, timeout, too_large,
        unauthorized, unavailable."""
        self.evaluations: defaultdict[str, int] = defaultdict(int)
        self.denials: defaultdict[str, int] = defaultdict(int)
        """By policy; neither grows beyond the policies that were ever in force."""
        self.warnings = 0
        self.in_flight = 0

    def reviewed(self, webhook: str, operation: str, resource: str, outcome: str) -> None:
        """Count an answer; beyond MAX_COMBINATIONS new resources are counted together, as `other`."""
        labels = (webhook, operation, resource, outcome)
        if len(self.reviews) >= MAX_COMBINATIONS and labels not in self.reviews:
            labels = (webhook, operation, "other", outcome)
        self.reviews[labels] += 1

    def judged(self, verdict: Verdict) -> None:
        """Count what a verdict says of its policies."""
        for policy in verdict.policies:
            self.evaluations[policy] += 1
        for policy in verdict.denied_by:
            self.denials[policy] += 1
        self.warnings += len(verdict.warnings)

    def collect(self) -> Iterator[Metric]:
        """Yield all families, for a registry."""
        yield self._reviews()
        yield self._timings()
        failures = CounterMetricFamily("sluice_admission_failures", "Requests without a verdict.", labels=["reason"])
        for reason, count in sorted(self.failures.items()):
            failures.add_metric([reason], count)
        yield failures
        words = "Requests for which the policy's rules were evaluated."
        yield _by_policy("sluice_policy_evaluations", words, self.evaluations)
        yield _by_policy("sluice_policy_denials", "Requests that the policy denied.", self.denials)
        yield CounterMetricFamily("sluice_admission_warnings", "Warnings sent with verdicts.", value=self.warnings)
        yield GaugeMetricFamily("sluice_admission_in_flight", "Requests being answered.", value=self.in_flight)

    def _reviews(self) -> Metric:
        family = CounterMetricFamily(
            "sluice_admission_requests",
            "Admission requests answered.",
            labels=["webhook", "operation", "resource", "outcome"],
        )
        for labels, count in sorted(self.reviews.items()):
            family.add_metric(labels, count)
        return family

    def _timings(self) -> Metric:
        family = HistogramMetricFamily(
            "sluice_admission_duration_seconds", "Time from the whole body to the answer.", labels=["webhook"]
        )
        for webhook, timing in self.timings.items():
            below, rows = 0, []
            for bound, count in zip((*(str(b) for b in BUCKETS), "+Inf"), timing.counts, strict=True):
                below += count
                rows.append((bound, below))
            family.add_metric([webhook], rows, timing.total)
        return family


def _by_policy(name: str, words: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, words, labels=["policy"])
    for policy, count in sorted(counts.items()):
        family.add_metric([policy], count)
    return family
