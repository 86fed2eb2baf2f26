"""A workload as it stands now: what an entry of the state came to, as the core's own immutable facts."""

from __future__ import annotations

from dataclasses import replace

from webhook.queue.model import Admission, Workload
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.rules import Victim


def facts_of(entry: Entry) -> Workload:
    """Give a workload as it stands now."""
    workload = entry.workload
    evicted = entry.victim.evicted if entry.victim is not None else workload.evicted
    if (entry.admission, entry.admitted, evicted) == (workload.admission, workload.admitted, workload.evicted):
        return workload
    return replace(workload, admission=entry.admission or workload.admission, admitted=entry.admitted, evicted=evicted)


def replace_workload(workload: Workload, queued_at: int, requeue_at: int, count: int) -> Workload:
    """Give an evicted workload as it waits again."""
    return replace(
        workload,
        admission=None,
        admitted=False,
        evicted=False,
        first=False,
        queued_at=queued_at,
        evicted_at=queued_at,
        requeue_at=requeue_at,
        requeue_count=count,
        deadline=0,
        pods_ready=False,
        unready_since=0,
        recovers=False,
    )


def helps_others(entry: Entry, workload: Workload) -> bool:
    """Say whether a workload's change retries what is parked, as in Kueue.

    It does where the workload ended or gave its quota back, or its priority class gave it another priority.
    """
    if workload.finished or not workload.active:
        return True
    holds = entry.status == Status.HOLDING
    class_changed = bool(workload.priority_class) and workload.priority != entry.workload.priority
    return holds and (workload.admission is None or class_changed)


def tie(workload: Workload) -> tuple[int, str, str]:
    """Give the keys that tell apart workloads of equal keys of the rules: creation, arrival within its second, name."""
    return workload.created, workload.arrival, workload.key


def victim_of(workload: Workload, admission: Admission, queue: str) -> Victim:
    """Give what the rules see of a workload that holds the quota of a queue."""
    return Victim(
        workload,
        queue,
        workload.priority,
        workload.queued_at,
        admission.reserved_at,
        workload.uid or workload.key,
        workload.evicted,
    )
