"""A workload as it is now: the entry of the state turned back into the core's immutable `Workload`."""

from __future__ import annotations

from dataclasses import replace

from webhook.queue.model import Admission, Workload
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.rules import Victim


def facts_of(entry: Entry) -> Workload:
    """Return a workload as it is now."""
    workload = entry.workload
    evicted = entry.victim.evicted if entry.victim is not None else workload.evicted
    if (entry.admission, entry.admitted, evicted) == (workload.admission, workload.admitted, workload.evicted):
        return workload
    return replace(workload, admission=entry.admission or workload.admission, admitted=entry.admitted, evicted=evicted)


def unwritten(workload: Workload) -> Workload:
    """Return a workload as it waits again, since its admission was not written."""
    return replace(workload, admission=None, admitted=False, evicted=False, first=False)


def requeued(workload: Workload, queued_at: int, requeue_at: int) -> Workload:
    """Return an evicted workload as it waits again; it is counted if it must not before `requeue_at`."""
    return replace(
        workload,
        admission=None,
        admitted=False,
        evicted=False,
        first=False,
        queued_at=queued_at,
        evicted_at=queued_at,
        requeue_at=requeue_at,
        requeue_count=workload.requeue_count + bool(requeue_at),
        deadline=0,
        pods_ready=False,
        unready_since=0,
        recovers=False,
    )


def stays_first(entry: Entry, workload: Workload) -> bool:
    """Return whether a changed workload still waits for victims of its own: it is in the same queue as before."""
    before = entry.workload
    is_same = (before.uid, before.queue_name) == (workload.uid, workload.queue_name)
    return before.first and is_same and workload.admission is None


def retries_parked(entry: Entry, workload: Workload) -> bool:
    """Return whether a workload's change makes parked classes be retried, as in Kueue.

    It does if the workload ended or released its quota, or if its priority class gave it another priority.
    """
    if workload.finished or not workload.active:
        return True
    holds = entry.status == Status.HOLDING
    class_changed = bool(workload.priority_class) and workload.priority != entry.workload.priority
    return holds and (workload.admission is None or class_changed)


def tie(workload: Workload) -> tuple[int, str, str]:
    """Return the keys that break ties between equal rule keys: creation, arrival within its second, name."""
    return workload.created, workload.arrival, workload.key


def victim_of(workload: Workload, admission: Admission, queue: str) -> Victim:
    """Return what the rules see of a workload that holds the quota of a queue."""
    return Victim(
        workload,
        queue,
        workload.priority,
        workload.queued_at,
        admission.reserved_at,
        workload.uid or workload.key,
        workload.evicted,
    )
