"""Follows the records of a journal: what each round saw changed and decided, and how one file continues the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from webhook.journal.records import Begin, Decided, Record
from webhook.queue.events import (
    AdmissionUnwritten,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadEvicted,
    WorkloadGone,
)
from webhook.queue.model import Admission, Snapshot, Workload
from webhook.queue.workload_facts import requeued, unwritten

WorkloadEvent = WorkloadChanged | WorkloadGone | WorkloadEvicted | AdmissionUnwritten
Edit = DefinitionChanged | DefinitionGone


class Continuation(StrEnum):
    """How a file continues the one before it."""

    FIRST = "first"
    SAME_LEADER = "same leader"
    """The same replica still led, or led again with no other between."""
    GAP = "gap"
    """Another replica led between the two, or may have."""
    ANOTHER_CLUSTER = "another cluster"
    """The lease was created at another time: no workload of the file before goes on."""


ANEW: Final = frozenset({Continuation.FIRST, Continuation.ANOTHER_CLUSTER})
"""The facts are those of the file alone."""


@dataclass(frozen=True, slots=True)
class WorkloadTransition:
    """A workload before and after an event; None: it is not there. Before includes the decisions made about it."""

    before: Workload | None
    after: Workload | None
    cause: WorkloadEvent

    @property
    def is_admission(self) -> bool:
        """Whether the workload is admitted now and was not before: it may run, all its checks are ready."""
        admitted = self.after is not None and self.after.admission is not None and self.after.admitted
        return admitted and not (self.before is not None and self.before.admitted)


@dataclass(frozen=True, slots=True)
class JournalStep:
    """The beginning of a file or a round, at a time (milliseconds), with the changes since the step before it.

    `begin` and `continues` are of the beginning of a file, `decided` is of a round; changes that no round saw are a
    step of their own. Where a file goes on, its facts are compared with those before: the differences are changes.
    """

    at: int
    changes: tuple[WorkloadTransition | Edit, ...] = ()
    decided: Decided | None = None
    begin: Begin | None = None
    continues: Continuation | None = None

    @property
    def anew(self) -> bool:
        """Whether a file begins to which no workload goes on: the facts are those of its snapshot alone."""
        return self.continues in ANEW


def continues(before: Begin | None, begin: Begin) -> Continuation:
    """Return how a file continues the one before it; `before` is None if there is none.

    What an older Sluice wrote names no lease, and what comes after it goes on.
    """
    if before is None:
        return Continuation.FIRST
    if before.lease not in ("", begin.lease):
        return Continuation.ANOTHER_CLUSTER
    if before.lease == begin.lease and before.epoch in (begin.epoch, begin.epoch - 1):
        return Continuation.SAME_LEADER
    return Continuation.GAP


def steps(records: Iterable[Record]) -> Iterator[JournalStep]:
    """Yield the steps of all files, in order."""
    known: dict[str, Workload] = {}
    waiting: list[Event] = []
    """Changes that no round has seen yet: those at the end of a file are seen as the next one begins."""
    at = 0
    last: Begin | None = None
    for record in records:
        match record:
            case Begin():
                how = continues(last, record)
                if how in ANEW:
                    if waiting:
                        yield JournalStep(at, _told(waiting, known))
                    waiting, known = [], {workload.key: workload for workload in record.snapshot.workloads}
                changes = _told(waiting, known)
                changes += _told(_meanwhile(record.snapshot, known), known)
                at, last = record.at, record
                yield JournalStep(at, changes, begin=record, continues=how)
            case Decided():
                at = record.now
                changes = _told(waiting, known)
                _decide(record, known)
                yield JournalStep(at, changes, record)
            case _:
                waiting.append(record)
                continue
        waiting = []
    if waiting:
        yield JournalStep(at, _told(waiting, known))


def _told(events: Iterable[Event], known: dict[str, Workload]) -> tuple[WorkloadTransition | Edit, ...]:
    """Apply events to the workloads; events about unknown ones change nothing."""
    changes: list[WorkloadTransition | Edit] = []
    for event in events:
        if isinstance(event, Edit):
            changes.append(event)
            continue
        key = event.workload.key if isinstance(event, WorkloadChanged) else event.key
        before = known.get(key)
        if before is None and not isinstance(event, WorkloadChanged):
            continue
        after = _after(before, event)
        if after is None:
            del known[key]
        else:
            known[key] = after
        changes.append(WorkloadTransition(before, after, event))
    return tuple(changes)


def _after(before: Workload | None, event: WorkloadEvent) -> Workload | None:
    match event:
        case WorkloadChanged(workload):
            return workload
        case WorkloadEvicted(_, queued_at, requeue_at) if before is not None:
            return requeued(before, queued_at, requeue_at)
        case AdmissionUnwritten() if before is not None:
            return unwritten(before)
    return None


def _meanwhile(snapshot: Snapshot, known: Mapping[str, Workload]) -> list[WorkloadEvent]:
    """Return what happened between two files, as the second one begins with it."""
    gone = sorted(known.keys() - {workload.key for workload in snapshot.workloads})
    changed = (workload for workload in snapshot.workloads if known.get(workload.key) != workload)
    return [*map(WorkloadGone, gone), *map(WorkloadChanged, changed)]


def _decide(made: Decided, known: dict[str, Workload]) -> None:
    """Let workloads have what was decided, as the core does until their objects say so."""
    for ready in made.ready:
        if (workload := known.get(ready.workload)) is not None:
            known[workload.key] = replace(workload, admitted=True)
    for admitted in made.admitted:
        if (workload := known.get(admitted.workload)) is not None:
            got = Admission(admitted.cluster_queue, admitted.pod_sets, made.now)
            known[workload.key] = replace(workload, admission=got, admitted=admitted.admitted)
