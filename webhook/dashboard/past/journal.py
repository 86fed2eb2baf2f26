"""What a journal says of the past: queues over weeks, the life of a workload, the jobs that ran.

Read in a thread, the newest files first, as much as can be read in a while; `partial` says where there was more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.dashboard.model.workloads import JobRef, LifeEvent
from webhook.dashboard.past.history import QueueSample
from webhook.diagnostics import Diagnostic, SourceError
from webhook.journal.follow import Continuation, Edit, JournalStep, WorkloadTransition, steps
from webhook.journal.read import journal_files, readable
from webhook.journal.timeline import EventKind, TimelineEntry, entries
from webhook.journal.trace import TracedRuns
from webhook.journal.writer import SUFFIX
from webhook.queue.definitions import Definitions, local_of
from webhook.queue.events import Definition, DefinitionChanged
from webhook.queue.model import Admission, ClusterQueue, LocalQueue, Snapshot, Workload
from webhook.queue.quota.usage_by_owner import usage_of
from webhook.simulate.trace import Arrival, arrival_of

log = logging.getLogger(__name__)

BYTES: Final = 8 * 2**20
"""Of compressed files that are read: a hundred thousand records or so."""
BUCKET: Final = 300_000
"""Milliseconds between two points of a queue."""
LIFE: Final = {
    EventKind.ARRIVED: "queued",
    EventKind.QUOTA_RESERVED: "reserved",
    EventKind.ADMITTED: "admitted",
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
    reserving: int = 0
    pending: set[str] = field(default_factory=set)
    started: int = 0
    waited: int = 0
    points: list[QueueSample] = field(default_factory=list)

    def point(self, at: int) -> None:
        """Take a point, where it is another than the last."""
        reserved = tuple(sorted((key, n) for key, n in self.reserved.items() if n))
        mean = self.waited // self.started if self.started else 0
        made = QueueSample(at, reserved, len(self.pending), self.reserving, self.started, mean)
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
    replay, traced = QueueHistoryReplay(), TracedRuns()
    lives: dict[str, list[LifeEvent]] = {}
    for step in steps(readable(files, wrong)):
        if not in_time():
            partial = True
            break
        replay.take(step)
        traced.take(step)
        for entry in entries(step):
            if (event := _event(entry)) is not None:
                lives.setdefault(entry.workload, []).append(event)
    replay.end()
    if wrong:
        log.warning("the page's history is incomplete: %s", SourceError(wrong))
    begun = files[0].begin.at if files else 0
    queues = {name: past.points for name, past in replay.queues.items()}
    arrivals = tuple(arrival_of(run.workload, run.arrived, run.run_time) for run in traced.ran())
    return JournalPast(begun, partial or bool(wrong), queues, lives, arrivals, tuple(replay.gaps))


def _event(entry: TimelineEntry) -> LifeEvent | None:
    word = LIFE.get(entry.what)
    if word is None or not entry.workload:
        return None
    if entry.what is EventKind.PREEMPTED:
        preemptor, _, reason = entry.detail.removeprefix("for ").partition(": ")
        return LifeEvent(entry.at, word, reason=reason, preemptor=JobRef(preemptor))
    if entry.what is EventKind.EVICTED:
        reason, _, detail = entry.detail.partition(": ")
        return LifeEvent(entry.at, word, queue=entry.queue, reason=reason, detail=detail)
    return LifeEvent(entry.at, word, queue=entry.queue, detail=entry.detail)


class QueueHistoryReplay:
    """Follows the steps of a journal, and takes a point of every queue at the end of each bucket.

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
        self.now = self.bucket = 0
        self.gaps: list[tuple[int, int]] = []

    def take(self, step: JournalStep) -> None:
        """Take the changes of a step. What changed while another replica led is not counted as started here."""
        away = step.continues in (Continuation.GAP, Continuation.ANOTHER_CLUSTER)
        if away:
            self.gaps.append((self.now, step.at))
        self._tick(step.at, over=away)
        if step.begin is None or step.continues is Continuation.SAME_LEADER:
            for change in step.changes:
                if isinstance(change, WorkloadTransition):
                    self._change(change)
                else:
                    self._edit(change)
        if step.begin is not None:
            self._restart(step.begin.snapshot)
        elif self._redefined:
            self._recount()

    def _change(self, change: WorkloadTransition) -> None:
        after = change.after
        if after is None:
            if change.before is not None:
                self._release(change.before.key)
                self.known.pop(change.before.key, None)
            return
        before = self.known.get(after.key)
        self._changed(after)
        if after.admitted and after.admission is not None and not (before is not None and before.admitted):
            past = self.queues.setdefault(after.admission.cluster_queue, QueueReplay())
            past.started += 1
            past.waited += max(0, self.now - after.created)

    def _edit(self, edit: Edit) -> None:
        if isinstance(edit, DefinitionChanged):
            before = self.definitions.put(edit.definition)
            self._redefined |= _queue_of(before) != _queue_of(edit.definition)
        else:
            self._redefined |= _queue_of(self.definitions.drop(edit.kind, edit.key)) is not None

    def _restart(self, snapshot: Snapshot) -> None:
        """Let things stand as a file says that begins."""
        for past in self.queues.values():
            past.reserved, past.reserving, past.pending = {}, 0, set()
        self.held, self.waits, self.known = {}, {}, {}
        self.definitions, self._redefined = Definitions(), False
        self.definitions.define(snapshot)
        for queue in snapshot.cluster_queues:
            self.queues.setdefault(queue.name, QueueReplay())
        for workload in snapshot.workloads:
            self._changed(workload)

    def _tick(self, now: int, *, over: bool = False) -> None:
        """Take the points of a bucket that is over, as things stood after its last round."""
        if over or now // BUCKET != self.bucket:
            self.end()
        self.now, self.bucket = now, now // BUCKET

    def end(self) -> None:
        """Take the last points."""
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
        hold = self.held[key] = Hold(admission.cluster_queue, usage_of(admission))
        past.reserving += 1
        for cell, number in hold.amounts.items():
            past.reserved[cell] = past.reserved.get(cell, 0) + number

    def _release(self, key: str) -> None:
        if (hold := self.held.pop(key, None)) is not None:
            past = self.queues[hold.queue]
            past.reserving -= 1
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
