"""A workload as a row of a list, and what it lacks: the core's records, with what the reader may not see left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from webhook.api.pending_message import message_of
from webhook.api.snapshot.quota import milliseconds
from webhook.api.state_of_workload import ADMITTED, FINISHED, INACTIVE, PENDING, RESERVED, workload_state
from webhook.dashboard.model.queues import WorkloadRow
from webhook.dashboard.model.workloads import HolderRow, ShortageRow
from webhook.dashboard.sources import Sources
from webhook.offline.plan.objects import owner_of
from webhook.queue.decisions import Holder, Pending, Shortage
from webhook.queue.explain import Gathered, describe
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.quota.accounting import requests_of

Sees = Callable[[str], bool]
"""Whether the reader may see the Workloads of a namespace."""
JobOf = Callable[[str], str]
"""The job of a Workload, as `Kind/name`; empty where it has none."""


def jobs_of(sources: Sources) -> JobOf:
    """Give what names the job of a Workload."""

    def job(key: str) -> str:
        found = sources.workload(key)
        return "" if found is None else _job(found)

    return job


def waiting_row(sources: Sources, entry: Entry, gathered: Gathered, position: int) -> WorkloadRow:
    """Give the row of one that waits; those of one queue share what is `gathered`."""
    told = describe(sources.state, entry, gathered, position)
    return _row(sources, entry, PENDING, told)


def any_row(sources: Sources, entry: Entry, told: Pending | None) -> WorkloadRow:
    """Give the row of one wherever it stands; `told` is why it waits."""
    found = sources.workload(entry.key)
    if found is not None:
        return _row(sources, entry, workload_state(found)[0], told)
    if entry.workload.finished:
        return _row(sources, entry, FINISHED, None)
    if entry.status == Status.HOLDING:
        return _row(sources, entry, ADMITTED if entry.admitted else RESERVED, told)
    return _row(sources, entry, PENDING if entry.workload.active else INACTIVE, told)


def _row(sources: Sources, entry: Entry, state: str, told: Pending | None) -> WorkloadRow:
    workload, admission, found = entry.workload, entry.admission, sources.workload(entry.key)
    queue = entry.pending_queue.queue.name if entry.pending_queue is not None else ""
    since = admission.reserved_at if admission is not None else 0
    ends = since + workload.run_time if admission is not None and workload.run_time is not None else 0
    waits: dict[str, Any] = {}
    if told is not None:
        waits = {
            "position": told.position,
            "place": told.place.value,
            "reason": told.reason.value,
            "message": message_of(told),
            "start": told.start or 0,
        }
    return WorkloadRow(
        workload.namespace,
        workload.name,
        state,
        job="" if found is None else _job(found),
        local_queue=workload.queue,
        cluster_queue=admission.cluster_queue if admission is not None else queue,
        user=workload.user,
        priority=workload.priority,
        created=_created(found) or workload.created,
        asks=requests_of(workload),
        since=since,
        ends=ends,
        **waits,
    )


def shortage_rows(shortages: Iterable[Shortage], job: JobOf, sees: Sees) -> tuple[ShortageRow, ...]:
    """Give what is lacking; holders that the reader may not see keep their amounts only."""
    return tuple(
        ShortageRow(
            s.pod_set, s.flavor, s.resource, s.asked, s.free, s.most, s.nominal, s.borrowed, s.beside, s.note,
            tuple(_holder(holder, job, sees) for holder in s.holders),
        )
        for s in shortages
    )  # fmt: skip


def _holder(holder: Holder, job: JobOf, sees: Sees) -> HolderRow:
    if not sees(holder.workload.partition("/")[0]):
        return HolderRow(holder.amount, holder.cluster_queue, ends=holder.ends or 0)
    return HolderRow(holder.amount, holder.cluster_queue, holder.workload, job(holder.workload), holder.ends or 0)


def _job(workload: Mapping[str, Any]) -> str:
    _, kind, name = owner_of(dict(workload))
    return f"{kind}/{name}" if kind else ""


def _created(workload: Mapping[str, Any] | None) -> int:
    return milliseconds(workload["metadata"].get("creationTimestamp")) if workload is not None else 0
