"""What queues were like while this replica ran: looked at once a minute, kept where it changed, within bounds.

Also which jobs ran, and for how long: the trace that can be run again where no journal is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from webhook.cluster.pace import Pass, every
from webhook.cluster.workloads.conditions import cluster_queue_of, run_time
from webhook.dashboard.model.queues import HistoryPoint
from webhook.dashboard.views.cluster import columns_of
from webhook.dashboard.views.simulate import thinned
from webhook.kube.condition_types import ADMITTED, FINISHED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.kube.times import milliseconds
from webhook.queue.model import Workload
from webhook.queue.state import State
from webhook.simulate.trace import Arrival, arrival_of
from webhook.store.objects import Object, key_of

SAMPLE_SECONDS: Final = 60.0
"""Seconds between two looks."""
SAMPLES: Final = 100_000
"""Points of all queues together: some 25 MB."""
LEAST: Final = 60
"""Points that a queue has in any case."""
SHOWN_POINTS: Final = 400
"""Points of a queue that are answered."""
RUNS: Final = 10_000
"""Jobs that are remembered."""


class QueueSample(NamedTuple):
    """A queue at a time; `reserved` are pairs of flavor and resource with what is held, `reserving` by how many."""

    at: int
    reserved: tuple[tuple[tuple[str, str], int], ...]
    pending: int
    reserving: int
    started: int
    waited: int


class Samples:
    """The points of each queue, and what started since the last look."""

    def __init__(self, now: int) -> None:
        self.since = now
        self._points: dict[str, deque[QueueSample]] = {}
        self._started: dict[str, list[int]] = {}

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Take note of a Workload that is admitted: how long it waited."""
        if old is None or new is None or holds(old, ADMITTED) or not holds(new, ADMITTED):
            return
        queue = cluster_queue_of(new)
        since = milliseconds(at(new, ("metadata", "creationTimestamp")))
        waited = milliseconds((find(new, ADMITTED) or {}).get("lastTransitionTime")) - since
        self._started.setdefault(queue, []).append(max(0, waited))

    def look(self, state: State, now: int) -> Pass[None]:
        """Take a point of every queue that is another than at its last one."""
        most = max(LEAST, SAMPLES // max(1, len(state.by_queue)))
        for name in self._points.keys() - state.by_queue.keys():
            del self._points[name]
        started, self._started = self._started, {}
        for pause, name in every(list(state.by_queue), 10):
            sample = _sample(state, name, now, started.get(name, ()))
            points = self._points.setdefault(name, deque())
            if sample is not None and (not points or points[-1][1:] != sample[1:]):
                points.append(sample)
            while len(points) > most:
                points.popleft()
            if pause:
                yield

    def of(self, name: str) -> list[QueueSample]:
        """Return the points of a queue."""
        return list(self._points.get(name, ()))


def _sample(state: State, name: str, now: int, waits: list[int] | tuple[()]) -> QueueSample | None:
    line = state.by_queue.get(name)
    if line is None:
        return None
    tree, base = line.node.tree, line.node.base
    reserved = tuple((key, n) for key, n in zip(tree.names, tree.usage[base : base + tree.width], strict=True) if n)
    waiting = sum(len(equivalence.members) for equivalence in line.classes.values())
    mean = sum(waits) // len(waits) if waits else 0
    return QueueSample(now, reserved, waiting, len(line.holders), len(waits), mean)


def points_from(samples: Sequence[QueueSample], since: int, state: State) -> tuple[HistoryPoint, ...]:
    """Return the points from a time on, the first one as things stood then, and as many as can be seen."""
    columns = columns_of(state)
    begin = max((i for i, sample in enumerate(samples) if sample.at <= since), default=0)
    first = [sample._replace(at=max(since, sample.at)) for sample in samples[begin : begin + 1]]
    return tuple(point_of(sample, columns) for sample in thinned([*first, *samples[begin + 1 :]], SHOWN_POINTS))


def point_of(sample: QueueSample, columns: Mapping[tuple[str, str], int]) -> HistoryPoint:
    """Return a point with its columns; those that have no quota any more are left out."""
    reserved = {columns[key]: n for key, n in sample.reserved if key in columns}
    return HistoryPoint(sample.at, reserved, sample.pending, sample.reserving, sample.started, sample.waited)


class Runs:
    """The jobs that finished, as arrivals at their time of creation; the oldest go first."""

    def __init__(self, facts: Callable[[str], Workload | None]) -> None:
        self._facts = facts
        self._ran: deque[Arrival] = deque(maxlen=RUNS)

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Take note of a Workload that has finished."""
        if old is None or new is None or holds(old, FINISHED) or not holds(new, FINISHED):
            return
        workload, run = self._facts("/".join(key_of(new))), run_time(new)
        if workload is not None and run is not None:
            self._ran.append(arrival_of(workload, workload.created, max(1000, run)))

    @property
    def full(self) -> bool:
        """Whether older ones were forgotten."""
        return len(self._ran) == RUNS

    def arrivals(self) -> tuple[Arrival, ...]:
        """Return the workloads in the order of their arrival."""
        return tuple(sorted(self._ran, key=lambda arrival: arrival.at))
