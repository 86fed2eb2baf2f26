"""A journal as a trace for `sluice simulate`: the arrival, request and run time of each workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from webhook.api.amounts import texts
from webhook.journal.records import Record
from webhook.journal.timeline import EventKind, Happening, timeline, total
from webhook.queue.model import Workload


@dataclass(slots=True)
class TracedRun:
    """A workload as it ran; times in milliseconds since the epoch. Runs that ended in an eviction count too."""

    workload: Workload
    arrived: int
    since: int | None = None
    total: int = 0

    def stop(self, at: int) -> None:
        """End a run. If the clock was put back meanwhile, its time is unknown and counts as none."""
        if self.since is not None:
            self.total += max(0, at - self.since)
            self.since = None


def trace(records: Iterable[Record]) -> tuple[int, list[dict[str, Any]]]:
    """Return when the trace begins, at the first arrival, and a row for each finished workload, by arrival.

    Several pod sets become one pod with their total request.
    """
    traced = TracedRuns()
    for happening in timeline(records, traced.known):
        traced.follow(happening)
    ran = traced.ran()
    begun = ran[0].arrived if ran else 0
    return begun, [_row(run, begun) for run in ran]


class TracedRuns:
    """Follows a timeline, which updates `known`; keeps the workloads that ran and ended."""

    def __init__(self) -> None:
        self.known: dict[str, Workload] = {}
        self._running: dict[str, TracedRun] = {}
        self._ended: list[TracedRun] = []

    def ran(self) -> list[TracedRun]:
        """Return those that ran, by arrival."""
        return sorted((run for run in self._ended if run.total), key=lambda run: (run.arrived, run.workload.key))

    def follow(self, happening: Happening) -> None:
        """Take note of an entry of the timeline, before the next one is made."""
        key, at = happening.workload, happening.at
        if happening.what is EventKind.BEGAN:
            if happening.anew:
                self._running.clear()
            for key in self.known.keys() - self._running.keys():
                self._note(self.known[key], at)
        elif happening.what is EventKind.ARRIVED:
            self._note(self.known[key], at)
        elif (run := self._running.get(key)) is not None:
            match happening.what:
                case EventKind.ADMITTED if run.since is None:
                    run.since = _since(self.known.get(key)) or at
                case EventKind.UNWRITTEN:  # it did not run
                    run.since = None
                case EventKind.REQUEUED | EventKind.EVICTED | EventKind.FINISHED | EventKind.DELETED:
                    run.stop(at)
            if happening.what in (EventKind.FINISHED, EventKind.DELETED):
                self._ended.append(self._running.pop(key))

    def _note(self, workload: Workload, at: int) -> None:
        run = self._running[workload.key] = TracedRun(workload, workload.created or at)
        if not workload.finished:
            run.since = _since(workload)


def _since(workload: Workload | None) -> int | None:
    return workload.admission.reserved_at if workload is not None and workload.admission is not None else None


def _row(run: TracedRun, begun: int) -> dict[str, Any]:
    workload = run.workload
    if len(workload.pod_sets) == 1:
        (pods,) = workload.pod_sets
        asks: dict[str, Any] = {"count": pods.count, "requests": texts(pods.requests)}
        if pods.min_count is not None:
            asks["min"] = pods.min_count
    else:
        asks = {"count": 1, "requests": texts(total(workload))}
    return {
        "time": f"{run.arrived - begun}ms",
        "run": f"{run.total}ms",
        "namespace": workload.namespace,
        "queue": workload.queue_name,
        "name": workload.name,
        "priority": workload.priority,
        **asks,
        **({"user": workload.user} if workload.user else {}),
        **({"class": workload.priority_class} if workload.priority_class else {}),
    }
