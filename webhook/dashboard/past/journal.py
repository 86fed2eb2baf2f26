"""What a journal says of the past: queues over weeks, the life of a workload, the jobs that ran.

Read in a thread, the newest files first, as much as can be read in a while; `partial` says where there was more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.dashboard.model.workloads import JobRef, LifeEvent
from webhook.dashboard.past.history import QueueSample, arrival_of
from webhook.diagnostics import Diagnostic, SourceError
from webhook.journal.read import journal_files, readable
from webhook.journal.records import Begin, Decided, Record
from webhook.journal.timeline import EventKind, Happening, timeline
from webhook.journal.trace import TracedRuns
from webhook.journal.writer import SUFFIX
from webhook.offline.simulate.arrivals import Arrival
from webhook.queue.definitions import Definitions
from webhook.queue.events import (
    AdmissionUnwritten,
    Definition,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadEvicted,
    WorkloadGone,
)
from webhook.queue.model import Admission, ClusterQueue, LocalQueue, Workload
from webhook.queue.quota.accounting import local_of
from webhook.queue.workload_facts import requeued, unwritten

log = logging.getLogger(__name__)

BYTES: Final = 8 * 2**20
"""Of compressed files that are read: a hundred thousand records or so."""
BUCKET: Final = 300_000
"""Milliseconds between two points of a queue."""
LIFE: Final = {
    EventKind.ARRIVED: "queued",
    EventKind.ADMITTED: "admitted",
    EventKind.CHECKED: "admitted",
    EventKind.PREEMPTED: "preempted",
    EventKind.EVICTED: "evicted",
    EventKind.REQUEUED: "requeued",
    EventKind.UNWRITTEN: "requeued",
    EventKind.FINISHED: "finished",
    EventKind.DELETED: "deleted",
}


@dataclass(slots=True)
class Hold:
    """What a workload holds of a queue."""

    queue: str
    amounts: dict[tuple[str, str], int]


@dataclass(slots=True)
class QueueReplay:
    """A queue while a journal is gone through."""

    reserved: dict[tuple[str, str], int] = field(default_factory=dict)
    admitted: int = 0
    pending: set[str] = field(default_factory=set)
    started: int = 0
    waited: int = 0
    points: list[QueueSample] = field(default_factory=list)

    def point(self, at: int) -> None:
        """Take a point, where it is another than the last."""
        reserved = tuple(sorted((key, n) for key, n in self.reserved.items() if n))
        mean = self.waited // self.started if self.started else 0
        made = QueueSample(at, reserved, len(self.pending), self.admitted, self.started, mean)
        if not self.points or self.points[-1][1:] != made[1:]:
            self.points.append(made)
        self.started = self.waited = 0


@dataclass(slots=True)
class JournalPast:
    """What was read: points by queue, events by workload, and the jobs that ran; times in milliseconds.

    `gaps` are pairs of times between which another replica led.
    """

    since: int
    partial: bool
    queues: dict[str, list[QueueSample]]
    lives: dict[str, list[LifeEvent]]
    arrivals: tuple[Arrival, ...]
    gaps: tuple[tuple[int, int], ...]


def newest(folder: Path) -> tuple[list[Path], bool]:
    """Return the newest files, as many as are read, and whether there are older ones."""
    paths = sorted(folder.glob(f"*{SUFFIX}"), reverse=True)
    taken: list[Path] = []
    size = 0
    for path in paths:
        size += path.stat().st_size
        if taken and size > BYTES:
            break
        taken.append(path)
    return taken, len(taken) < len(paths)


def read_past(folder: Path, in_time: Callable[[], bool]) -> JournalPast:
    """Read a journal as far as there is time; damaged parts are left out. Raises OSError where there is none."""
    paths, partial = newest(folder)
    wrong: list[Diagnostic] = []
    files = journal_files(paths, wrong)
    fold, traced = _Fold(), TracedRuns()
    lives: dict[str, list[LifeEvent]] = {}

    def records() -> Iterator[Record]:
        nonlocal partial
        for record in readable(files, wrong):
            if not in_time():
                partial = True
                return
            fold.take(record)
            yield record

    for happening in timeline(records(), traced.known):
        traced.follow(happening)
        if (event := _event(happening)) is not None:
            lives.setdefault(happening.workload, []).append(event)
    fold.end()
    if wrong:
        log.warning("the page's history is incomplete: %s", SourceError(wrong))
    begun = files[0].begin.at if files else 0
    queues = {name: past.points for name, past in fold.queues.items()}
    arrivals = tuple(arrival_of(run.workload, run.arrived, run.total) for run in traced.ran())
    return JournalPast(begun, partial or bool(wrong), queues, lives, arrivals, tuple(fold.gaps))


def _event(happening: Happening) -> LifeEvent | None:
    word = LIFE.get(happening.what)
    if word is None or not happening.workload:
        return None
    if happening.what is EventKind.PREEMPTED:
        preemptor, _, reason = happening.detail.removeprefix("for ").partition(": ")
        return LifeEvent(happening.at, word, reason=reason, preemptor=JobRef(preemptor))
    if happening.what is EventKind.EVICTED:
        reason, _, detail = happening.detail.partition(": ")
        return LifeEvent(happening.at, word, queue=happening.queue, reason=reason, detail=detail)
    return LifeEvent(happening.at, word, queue=happening.queue, detail=happening.detail)


class _Fold:
    """Goes through records, and takes a point of every queue at the end of each bucket.

    What holds quota is what the objects say: a decision may not be written, and beside Kueue none is.
    """

    def __init__(self) -> None:
        self.queues: dict[str, QueueReplay] = {}
        self.known: dict[str, Workload] = {}
        self.definitions = Definitions()
        self._redefined = False
        self.held: dict[str, Hold] = {}
        self.waits: dict[str, str] = {}
        """The ClusterQueue in which each pending workload is counted."""
        self._waiting: list[Event] = []
        """Changes that no round has seen yet."""
        self.now = self.bucket = 0
        self.gaps: list[tuple[int, int]] = []
        self._term: tuple[str, int] | None = None
        """The lease and epoch of the last file: another replica led before a file of a later one but the next."""

    def take(self, record: Record) -> None:
        match record:
            case Begin():
                self._begin(record)
            case Decided():
                self._tick(record.now)
                for event in self._waiting:
                    self._event(event)
                self._waiting = []
                if self._redefined:
                    self._recount()
            case _:
                self._waiting.append(record)

    def _event(self, event: Event) -> None:
        match event:
            case WorkloadChanged(workload):
                before = self.known.get(workload.key)
                self._changed(workload)
                if workload.admitted and workload.admission is not None and not (before and before.admitted):
                    past = self.queues.setdefault(workload.admission.cluster_queue, QueueReplay())
                    past.started += 1
                    past.waited += max(0, self.now - workload.created)
            case WorkloadGone(key):
                self._release(key)
                self.known.pop(key, None)
            case WorkloadEvicted(key, queued_at, requeue_at):
                if (evicted := self.known.get(key)) is not None:
                    self._changed(requeued(evicted, queued_at, requeue_at))
            case AdmissionUnwritten(key):  # of the facts at the beginning of the file
                if (refused := self.known.get(key)) is not None:
                    self._changed(unwritten(refused))
            case DefinitionChanged(definition):
                self._redefined |= _queue_of(self.definitions.put(definition)) != _queue_of(definition)
            case DefinitionGone(kind, key):
                self._redefined |= _queue_of(self.definitions.drop(kind, key)) is not None

    def _begin(self, begin: Begin) -> None:
        term = begin.lease, begin.epoch
        if other := self._term not in (None, term, (begin.lease, begin.epoch - 1)):
            self.gaps.append((self.now, begin.at))
        self._tick(begin.at, over=other)
        self._term, self._waiting = term, []
        for past in self.queues.values():
            past.reserved, past.admitted, past.pending = {}, 0, set()
        self.held, self.waits, self.known = {}, {}, {}
        self.definitions = Definitions()
        self.definitions.define(begin.snapshot)
        for queue in begin.snapshot.cluster_queues:
            self.queues.setdefault(queue.name, QueueReplay())
        for workload in begin.snapshot.workloads:
            self._changed(workload)

    def _tick(self, now: int, *, over: bool = False) -> None:
        """Take the points of a bucket that is over, as things stood after its last round."""
        if over or now // BUCKET != self.bucket:
            self.end()
        self.now, self.bucket = now, now // BUCKET

    def end(self) -> None:
        if self._term is not None:
            for past in self.queues.values():
                past.point(self.now)

    def _changed(self, workload: Workload) -> None:
        self._release(workload.key)
        self.known[workload.key] = workload
        if workload.finished:
            return
        if workload.admission is not None:
            self._hold(workload.key, workload.admission)
        else:
            self._wait(workload)

    def _wait(self, workload: Workload) -> None:
        """Count a workload where it is pending, as the core does: not if it is inactive, held, or in no queue."""
        if not self.definitions.why_not_queued(workload):
            queue = self.waits[workload.key] = self.definitions.local_queues[local_of(workload)].cluster_queue
            self.queues.setdefault(queue, QueueReplay()).pending.add(workload.key)

    def _recount(self) -> None:
        """Count those that are pending where their LocalQueues lead now."""
        self._redefined = False
        for workload in self.known.values():
            if workload.key not in self.held and not workload.finished:
                self._release(workload.key)
                self._wait(workload)

    def _hold(self, key: str, admission: Admission) -> None:
        past = self.queues.setdefault(admission.cluster_queue, QueueReplay())
        hold = self.held[key] = Hold(admission.cluster_queue, dict(_amounts(admission)))
        past.admitted += 1
        for cell, number in hold.amounts.items():
            past.reserved[cell] = past.reserved.get(cell, 0) + number

    def _release(self, key: str) -> None:
        if (hold := self.held.pop(key, None)) is not None:
            past = self.queues[hold.queue]
            past.admitted -= 1
            for cell, number in hold.amounts.items():
                past.reserved[cell] -= number
        if queue := self.waits.pop(key, ""):
            self.queues[queue].pending.discard(key)


def _queue_of(definition: Definition | None) -> object:
    """Return what of a definition says in which queue a workload is pending; None of most."""
    match definition:
        case LocalQueue():
            return definition.cluster_queue, definition.stop_policy, definition.problem
        case ClusterQueue():
            return definition.name
    return None


def _amounts(admission: Admission) -> Iterator[tuple[tuple[str, str], int]]:
    sums: dict[tuple[str, str], int] = {}
    for pods in admission.pod_set_assignments:
        for resource, flavor in pods.flavors.items():
            sums[flavor, resource] = sums.get((flavor, resource), 0) + pods.resource_usage.get(resource, 0)
    yield from sums.items()
