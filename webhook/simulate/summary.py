"""The metrics of a simulation: waiting times, preemptions, utilization and fairness, per queue and class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from webhook.queue.model import WEIGHT, Snapshot
from webhook.simulate.simulation import SimulatedJob, SimulationResult, UsageSample

ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Jobs of one queue and class. Times are milliseconds; waits are those of jobs that started, all waits summed."""

    queue: str
    group: str
    jobs: int
    finished: int
    wait_mean: float
    wait_median: int
    wait_p90: int
    wait_max: int
    preemptions: int
    lost: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole simulation. `utilisation` is by resource, of all quota, until the last job finished.

    `fairness` is Jain's index over what each queue got of what its weight entitles it to, while all of them had work.
    """

    name: str
    rows: tuple[SummaryRow, ...]
    total: SummaryRow
    makespan: int
    utilisation: Mapping[str, float]
    fairness: float
    never_started: int


def summarise(outcome: SimulationResult, by: Sequence[str] = ("queue", "class")) -> Summary:
    """Sum up an outcome, one row per queue and class (or per one of them, as `by` says)."""
    groups: dict[tuple[str, str], list[SimulatedJob]] = defaultdict(list)
    for job in outcome.jobs:
        queue = job.cluster_queue if "queue" in by else ALL
        groups[queue, job.arrival.group if "class" in by else ALL].append(job)
    return Summary(
        outcome.name,
        tuple(_row(*key, jobs) for key, jobs in sorted(groups.items())),
        _row(ALL, ALL, outcome.jobs),
        outcome.end,
        utilisation(outcome.samples, capacity(outcome.snapshot), outcome.end),
        fairness(outcome),
        sum(job.started < 0 for job in outcome.jobs),
    )


def jain(values: Iterable[float]) -> float:
    """Return Jain's fairness index: 1 where all values are equal, 1/n where one has everything; 1 for no values."""
    numbers = list(values)
    squares = sum(x * x for x in numbers)
    return sum(numbers) ** 2 / (len(numbers) * squares) if squares else 1.0


def capacity(snapshot: Snapshot) -> dict[str, int]:
    """Return all nominal quota by resource, cohorts' own included."""
    total: dict[str, int] = defaultdict(int)
    owned = [q.resource_groups for q in snapshot.cluster_queues] + [c.resource_groups for c in snapshot.cohorts]
    for flavor in (f for groups in owned for group in groups for f in group.flavors):
        for resource, quota in flavor.resources.items():
            total[resource] += quota.nominal_quota
    return dict(total)


def utilisation(samples: Sequence[UsageSample], quota: Mapping[str, int], end: int) -> dict[str, float]:
    """Return the time-weighted mean of use per resource, as a fraction of quota, from the first event to `end`."""
    held = integral(samples, end)
    span = max(end - samples[0].at, 0) if samples else 0
    used: dict[str, float] = defaultdict(float)
    for (_, resource), n in held.items():
        used[resource] += n
    return {r: used[r] / (n * span) if n * span else 0.0 for r, n in sorted(quota.items())}


def integral(samples: Sequence[UsageSample], end: int) -> dict[tuple[str, str], float]:
    """Return use times milliseconds, by (queue, resource)."""
    total: dict[tuple[str, str], float] = defaultdict(float)
    for i, sample in enumerate(samples):
        until = min(samples[i + 1].at if i + 1 < len(samples) else end, end)
        span = max(until - sample.at, 0)
        for key, n in sample.usage.items():
            total[key] += n * span
    return dict(total)


def fairness(outcome: SimulationResult) -> float:
    """Return Jain's index over the queues' dominant use by weight, in the time in which every queue had work.

    Outside that time a queue that wants nothing gets nothing, which is no one's fault. Queues without work in the
    whole trace, and of weight 0, are left out.
    """
    weights = {q.name: q.weight / WEIGHT for q in outcome.snapshot.cluster_queues if q.weight}
    busy = sorted({j.cluster_queue for j in outcome.jobs} & set(weights))
    quota = [(resource, n) for resource, n in capacity(outcome.snapshot).items() if n]
    parts = {name: [((name, resource), n) for resource, n in quota] for name in busy}
    got: dict[str, float] = defaultdict(float)
    for i, sample in enumerate(outcome.samples[:-1]):
        span = outcome.samples[i + 1].at - sample.at
        use = _dominant(sample, parts)
        if all(name in use or sample.pending.get(name) for name in busy):
            for name, share in use.items():
                got[name] += share * span / weights[name]
    return jain(got[name] for name in busy)


def _dominant(sample: UsageSample, parts: Mapping[str, Sequence[tuple[tuple[str, str], int]]]) -> dict[str, float]:
    """Return the largest share of all quota that each queue uses; those that use nothing are left out.

    `parts` are what to look up for a queue, each with the whole quota of its resource.
    """
    found, usage = {}, sample.usage
    for name, looked_up in parts.items():
        largest = 0.0
        for key, quota in looked_up:
            if (held := usage.get(key)) and held / quota > largest:
                largest = held / quota
        if largest:
            found[name] = largest
    return found


def _row(queue: str, group: str, jobs: Sequence[SimulatedJob]) -> SummaryRow:
    waits = sorted(job.waited for job in jobs if job.started >= 0)
    return SummaryRow(
        queue,
        group,
        len(jobs),
        sum(job.finished >= 0 for job in jobs),
        sum(waits) / len(waits) if waits else 0.0,
        percentile(waits, 0.5),
        percentile(waits, 0.9),
        waits[-1] if waits else 0,
        sum(job.preempted for job in jobs),
        sum(job.lost for job in jobs),
    )


def percentile(ordered: Sequence[int], part: float) -> int:
    """Return the nearest-rank percentile of sorted values; 0 of none."""
    return ordered[max(ceil(part * len(ordered)), 1) - 1] if ordered else 0
