"""A journal as a timeline of workloads: arrivals, decisions and ends, each at the time of the round that saw it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from webhook.api.amounts import assigned, text
from webhook.journal.follow import Edit, JournalStep, WorkloadTransition
from webhook.journal.heading import UserNames
from webhook.journal.records import Begin, Decided
from webhook.queue.events import AdmissionUnwritten, DefinitionChanged, WorkloadEvicted
from webhook.queue.model import Workload, is_admissible
from webhook.queue.quota.usage_by_owner import requests_of


class EventKind(StrEnum):
    """What happened. Quota is reserved first if a queue has admission checks, and the workload admitted after them."""

    BEGAN = "began"
    ARRIVED = "arrived"
    QUOTA_RESERVED = "quota-reserved"
    ADMITTED = "admitted"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    REQUEUED = "requeued"
    UNWRITTEN = "unwritten"
    FINISHED = "finished"
    DELETED = "deleted"
    EDITED = "edited"


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of a timeline; `at` in milliseconds since the epoch. `workload` is empty if it concerns none."""

    at: int
    what: EventKind
    workload: str = ""
    queue: str = ""
    detail: str = ""


def timeline(steps: Iterable[JournalStep]) -> Iterator[TimelineEntry]:
    """Yield the entries of all steps, in order."""
    for step in steps:
        yield from entries(step)


def entries(step: JournalStep) -> Iterator[TimelineEntry]:
    """Yield the entries of a step: that a file begins, what changed, then what was decided."""
    if step.begin is not None:
        yield TimelineEntry(step.at, EventKind.BEGAN, detail=_began(step.begin))
    for change in step.changes:
        yield from _changed(change, step.at) if isinstance(change, WorkloadTransition) else _edited(change, step.at)
    if step.decided is not None:
        yield from _decided(step.decided)


def _began(begin: Begin) -> str:
    waiting = sum(is_admissible(workload) for workload in begin.snapshot.workloads)
    held = sum(w.admission is not None for w in begin.snapshot.workloads)
    users = "; user names hashed" if begin.users == UserNames.HASH else ""
    return (
        f"leader {begin.identity}, rules {', '.join(begin.rules)}; {waiting} pending, {held} with quota reserved{users}"
    )


def _edited(edit: Edit, at: int) -> Iterator[TimelineEntry]:
    if isinstance(edit, DefinitionChanged):
        definition = edit.definition
        yield TimelineEntry(at, EventKind.EDITED, detail=f"{type(definition).__name__} {definition.name}")
    else:
        yield TimelineEntry(at, EventKind.DELETED, detail=f"{edit.kind.__name__} {edit.key}")


def _changed(change: WorkloadTransition, at: int) -> Iterator[TimelineEntry]:
    before, after = change.before, change.after
    if after is None:
        if before is not None and not before.finished:
            yield TimelineEntry(at, EventKind.DELETED, before.key, before.queue_name)
        return
    match change.cause:
        case WorkloadEvicted():
            yield TimelineEntry(at, EventKind.REQUEUED, after.key)
            return
        case AdmissionUnwritten():
            yield TimelineEntry(at, EventKind.UNWRITTEN, after.key)
            return
    if before is None:
        yield TimelineEntry(at, EventKind.ARRIVED, after.key, after.queue_name, _asked(after))
    if after.finished:
        if before is None or not before.finished:
            yield TimelineEntry(at, EventKind.FINISHED, after.key, after.queue_name)
        return
    held, got = before.admission if before is not None else None, after.admission
    if held is None and got is not None:
        what = EventKind.ADMITTED if after.admitted else EventKind.QUOTA_RESERVED
        yield TimelineEntry(at, what, after.key, got.cluster_queue, assigned(got.pod_set_assignments))
    elif held is not None and got is None:
        yield TimelineEntry(at, EventKind.REQUEUED, after.key, after.queue_name)
    elif got is not None and change.is_admission:
        yield TimelineEntry(at, EventKind.ADMITTED, after.key, got.cluster_queue)


def _asked(workload: Workload) -> str:
    requests = (f"{text(resource, number)} {resource}" for resource, number in sorted(requests_of(workload).items()))
    return ", ".join([*requests, *([f"user {workload.user}"] if workload.user else [])])


def _decided(made: Decided) -> Iterator[TimelineEntry]:
    for evicted in made.evicted:
        detail = f"{evicted.reason}: {evicted.message}" if evicted.message else evicted.reason
        yield TimelineEntry(made.now, EventKind.EVICTED, evicted.workload, evicted.cluster_queue, detail)
    for preempted in made.preempted:
        detail = f"for {preempted.preemptor}: {preempted.reason}"
        yield TimelineEntry(made.now, EventKind.PREEMPTED, preempted.workload, preempted.cluster_queue, detail)
    for ready in made.ready:
        yield TimelineEntry(made.now, EventKind.ADMITTED, ready.workload, ready.cluster_queue)
    for admitted in made.admitted:
        what = EventKind.ADMITTED if admitted.admitted else EventKind.QUOTA_RESERVED
        detail = ", ".join(filter(None, (assigned(admitted.pod_sets), "borrowing" if admitted.borrowing else "")))
        yield TimelineEntry(made.now, what, admitted.workload, admitted.cluster_queue, detail)
