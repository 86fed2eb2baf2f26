"""A journal as a trace for `sluice simulate`: the arrival, request and run time of each workload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.api.amounts import texts
from webhook.journal.read import JournalFile
from webhook.journal.timeline import EventKind, Happening, timeline, total
from webhook.queue.model import Workload


@dataclass(slots=True)
class _TracedRun:
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


def trace(files: Iterable[JournalFile], begun: int | None = None) -> tuple[int, list[dict[str, Any]]]:
    """Return when the trace begins, and a row for each finished workload, by arrival.

    It begins at `begun`, or else at the first arrival. Several pod sets become one pod with their total request.
    """
    known: dict[str, Workload] = {}
    runs: dict[str, _TracedRun] = {}
    ended: list[_TracedRun] = []
    for happening in timeline((record for file in files for record in file.records()), known):
        key = happening.workload
        if happening.what is EventKind.BEGAN:
            for workload in [known[key] for key in known.keys() - runs.keys()]:
                _note(runs, workload, happening.at)
        elif happening.what is EventKind.ARRIVED:
            _note(runs, known[key], happening.at)
        elif (run := runs.get(key)) is not None:
            _follow(run, happening, known)
            if happening.what in (EventKind.FINISHED, EventKind.DELETED):
                ended.append(runs.pop(key))
    ran = sorted((run for run in ended if run.total), key=lambda run: (run.arrived, run.workload.key))
    if begun is None:
        begun = ran[0].arrived if ran else 0
    return begun, [_row(run, begun) for run in ran]


def _follow(run: _TracedRun, happening: Happening, known: Mapping[str, Workload]) -> None:
    match happening.what:
        case EventKind.ADMITTED if run.since is None:
            run.since = _since(known.get(happening.workload)) or happening.at
        case EventKind.UNWRITTEN:  # it did not run
            run.since = None
        case EventKind.REQUEUED | EventKind.EVICTED | EventKind.FINISHED | EventKind.DELETED:
            run.stop(happening.at)


def _note(runs: dict[str, _TracedRun], workload: Workload, at: int) -> None:
    run = runs[workload.key] = _TracedRun(workload, workload.created or at)
    if not workload.finished:
        run.since = _since(workload)


def _since(workload: Workload | None) -> int | None:
    return workload.admission.reserved_at if workload is not None and workload.admission is not None else None


def _row(run: _TracedRun, begun: int) -> dict[str, Any]:
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
