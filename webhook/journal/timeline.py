"""A journal as a timeline of workloads: arrivals, decisions and ends, each at the time of the round that saw it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from webhook.api.amounts import text
from webhook.journal.records import Begin, Decided, Record
from webhook.journal.users import UserNames
from webhook.queue.events import (
    AdmissionUnwritten,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadEvicted,
    WorkloadGone,
)
from webhook.queue.model import Admission, PodSetAssignment, Snapshot, Workload


class EventKind(StrEnum):
    """What happened."""

    BEGAN = "began"
    ARRIVED = "arrived"
    ADMITTED = "admitted"
    CHECKED = "ready"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    REQUEUED = "requeued"
    UNWRITTEN = "unwritten"
    FINISHED = "finished"
    DELETED = "deleted"
    EDITED = "edited"


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of a timeline; `at` in milliseconds since the epoch. `workload` is empty if it concerns none.

    `anew`: a journal begins, and no workload of those before it goes on.
    """

    at: int
    what: EventKind
    workload: str = ""
    queue: str = ""
    detail: str = ""
    anew: bool = False


def timeline(records: Iterable[Record], known: dict[str, Workload]) -> Iterator[Happening]:
    """Yield the entries of all files, in order. `known` are the workloads so far, with the quota they hold.

    A lease that was created at another time may be another cluster's: with it everything begins anew. What an older
    Sluice wrote names no lease, and what comes after it goes on.
    """
    waiting: list[Event] = []
    """Changes that no round has seen yet: those at the end of a file are seen as the next one begins."""
    at, anew = 0, True
    lease: str | None = None
    for record in records:
        match record:
            case Begin():
                anew = lease is None or lease not in ("", record.lease)
                if anew:
                    yield from _events(waiting, at, known)
                    waiting = []
                    known.clear()
                    known.update((workload.key, workload) for workload in record.snapshot.workloads)
                at, lease = record.at, record.lease
                yield Happening(at, EventKind.BEGAN, detail=_began(record), anew=anew)
            case Decided():
                at = record.now
            case _:
                waiting.append(record)
                continue
        yield from _events(waiting, at, known)
        waiting = []
        if isinstance(record, Decided):
            yield from _decided(record, known)
        elif not anew:
            yield from _meanwhile(record.snapshot, at, known)
    yield from _events(waiting, at, known)


def _events(events: Iterable[Event], at: int, known: dict[str, Workload]) -> Iterator[Happening]:
    for event in events:
        yield from _event(event, at, known)


def _meanwhile(snapshot: Snapshot, at: int, known: dict[str, Workload]) -> Iterator[Happening]:
    """Yield what happened between two files, as the second one begins with it."""
    for key in sorted(known.keys() - {workload.key for workload in snapshot.workloads}):
        yield from _event(WorkloadGone(key), at, known)
    for workload in snapshot.workloads:
        yield from _event(WorkloadChanged(workload), at, known)


def _began(begin: Begin) -> str:
    waiting = sum(w.admission is None and not w.finished for w in begin.snapshot.workloads)
    held = sum(w.admission is not None for w in begin.snapshot.workloads)
    users = "; user names hashed" if begin.users == UserNames.HASH else ""
    return (
        f"leader {begin.identity}, rules {', '.join(begin.rules)}; {waiting} pending, {held} with quota reserved{users}"
    )


def _event(event: Event, at: int, known: dict[str, Workload]) -> Iterator[Happening]:
    match event:
        case WorkloadChanged(workload):
            before = known.get(workload.key)
            known[workload.key] = workload
            yield from _changed(before, workload, at)
        case WorkloadGone(key):
            gone = known.pop(key, None)
            if gone is not None and not gone.finished:
                yield Happening(at, EventKind.DELETED, key, gone.queue_name)
        case WorkloadEvicted(key):
            _waits(key, known)
            yield Happening(at, EventKind.REQUEUED, key)
        case AdmissionUnwritten(key):
            _waits(key, known)
            yield Happening(at, EventKind.UNWRITTEN, key)
        case DefinitionChanged(definition):
            yield Happening(at, EventKind.EDITED, detail=f"{type(definition).__name__} {definition.name}")
        case DefinitionGone(kind, key):
            yield Happening(at, EventKind.DELETED, detail=f"{kind.__name__} {key}")


def _changed(before: Workload | None, workload: Workload, at: int) -> Iterator[Happening]:
    if before is None:
        yield Happening(at, EventKind.ARRIVED, workload.key, workload.queue_name, _asked(workload))
    held = before.admission if before is not None else None
    if workload.finished:
        if before is None or not before.finished:
            yield Happening(at, EventKind.FINISHED, workload.key, workload.queue_name)
    elif held is None and (got := workload.admission) is not None:
        yield Happening(at, EventKind.ADMITTED, workload.key, got.cluster_queue, _got(got.pod_set_assignments))
    elif held is not None and workload.admission is None:
        yield Happening(at, EventKind.REQUEUED, workload.key, workload.queue_name)


def _waits(key: str, known: dict[str, Workload]) -> None:
    if (workload := known.get(key)) is not None:
        known[key] = replace(workload, admission=None)


def _asked(workload: Workload) -> str:
    return ", ".join(filter(None, (requests(workload), f"user {workload.user}" if workload.user else "")))


def _decided(made: Decided, known: dict[str, Workload]) -> Iterator[Happening]:
    for evicted in made.evicted:
        detail = f"{evicted.reason}: {evicted.message}" if evicted.message else evicted.reason
        yield Happening(made.now, EventKind.EVICTED, evicted.workload, evicted.cluster_queue, detail)
    for preempted in made.preempted:
        detail = f"for {preempted.preemptor}: {preempted.reason}"
        yield Happening(made.now, EventKind.PREEMPTED, preempted.workload, preempted.cluster_queue, detail)
    for ready in made.ready:
        yield Happening(made.now, EventKind.CHECKED, ready.workload, ready.cluster_queue)
    for admitted in made.admitted:
        if (workload := known.get(admitted.workload)) is not None:
            got = Admission(admitted.cluster_queue, admitted.pod_sets, made.now)
            known[admitted.workload] = replace(workload, admission=got)
        detail = ", ".join(filter(None, (_got(admitted.pod_sets), "borrowing" if admitted.borrowing else "")))
        yield Happening(made.now, EventKind.ADMITTED, admitted.workload, admitted.cluster_queue, detail)


def _got(pod_sets: Iterable[PodSetAssignment]) -> str:
    return ", ".join(
        f"{text(resource, pods.resource_usage.get(resource, 0))} {resource} ({flavor})"
        for pods in pod_sets
        for resource, flavor in sorted(pods.flavors.items())
    )


def requests(workload: Workload) -> str:
    """Return the total request of a workload as text: `4 cpu, 16 nvidia.com/gpu`."""
    return ", ".join(f"{text(resource, number)} {resource}" for resource, number in sorted(total(workload).items()))


def total(workload: Workload) -> dict[str, int]:
    """Return the total request of all pods of a workload."""
    summed: dict[str, int] = {}
    for pods in workload.pod_sets:
        for resource, each in pods.requests.items():
            summed[resource] = summed.get(resource, 0) + each * pods.count
    return summed
