"""The recorded jobs, run again."""

from __future__ import annotations

from typing import Literal

from webhook.dashboard.model.json_view import JsonView


class TraceView(JsonView, frozen=True):
    """`/ui/api/trace`: the recorded jobs that can be run again, and the names of the rules they can be run under.

    `since` and `until` are the arrivals of the first and the last. `partial` if older jobs are left out.
    """

    source: Literal["journal", "memory"]
    jobs: int
    since: int
    until: int
    partial: bool
    rules: tuple[str, ...]


class ProgressView(JsonView, frozen=True):
    """`/ui/api/simulate/progress`: the part of the running simulation that is done, 0 to 1."""

    done: float


class SeriesPoint(JsonView, frozen=True):
    """The queues from `at` (milliseconds from the first arrival) on: `used` by resource, workloads `pending`."""

    at: int
    used: dict[str, int]
    pending: int


class SimulatedSeries(JsonView, frozen=True):
    """One run of the trace. Waits are of jobs that started; `lost` is run time that preemptions threw away.

    `waits` is the mean wait by queue, `utilisation` the mean share of all quota by resource, 0 to 1; `fairness` is
    Jain's index.
    """

    name: str
    jobs: int
    finished: int
    never_started: int
    wait_mean: int
    wait_median: int
    wait_p90: int
    wait_max: int
    preemptions: int
    lost: int
    end: int
    fairness: float
    utilisation: dict[str, float]
    waits: dict[str, int]
    points: tuple[SeriesPoint, ...]


class SimulationView(JsonView, frozen=True):
    """`/ui/api/simulate`: the recorded jobs with the quota and rules of today, and with new ones.

    `points` and `capacity` (nominal quota in both runs) are of `queue`, or of all. `partial`: older jobs are left out.
    `since` and `until` are the arrivals of the first and the last.
    """

    source: Literal["journal", "memory"]
    since: int
    until: int
    today: SimulatedSeries
    other: SimulatedSeries
    capacity: tuple[dict[str, int], dict[str, int]]
    partial: bool = False
    took: int = 0
