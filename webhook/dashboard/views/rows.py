"""A workload as a row of a list, and what it lacks: the core's records, with what the reader may not see left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.pending_message import message_of
from webhook.api.snapshot.quota import milliseconds
from webhook.api.state_of_workload import ADMITTED, FINISHED, INACTIVE, PENDING, RESERVED, workload_state
from webhook.cluster.workloads.events import queued_at
from webhook.dashboard.model.queues import WorkloadRow
from webhook.dashboard.model.workloads import HolderRow, JobRef, ShortageRow
from webhook.dashboard.sources import Sources
from webhook.jobs.describe import at
from webhook.kube.conditions import find
from webhook.offline.plan.objects import owner_of
from webhook.queue.decisions import Holder, Pending, Shortage
from webhook.queue.explain import Gathered, describe
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.quota.accounting import requests_of
from webhook.store.objects import Object, key_of

Sees = Callable[[str], bool]
"""Whether the reader may see the Workloads of a namespace."""
JobOf = Callable[[str], str]
"""The job of a Workload, as `Kind/name`; empty where it has none."""


HIDDEN: Final = "a job that you may not see"


@dataclass(frozen=True, slots=True)
class Named:
    """Names jobs as far as a reader may see them."""

    job: JobOf
    sees: Sees

    def ref(self, workload: str, cluster_queue: str, job: str = "") -> JobRef:
        """Name a Workload (`namespace/name`) that holds quota of a queue; `job` is what it was made for, if known."""
        if not workload or not self.sees(workload.partition("/")[0]):
            return JobRef(cluster_queue=cluster_queue)
        return JobRef(workload, self.job(workload) or job, cluster_queue)

    def start_unknown(self, told: Pending) -> str:
        """Say why there is no expected start; a job that the reader may not see has no name."""
        if not told.start_job:
            return told.start_unknown
        namespace = told.start_job.partition("/")[0]
        name = (self.job(told.start_job) or told.start_job) if self.sees(namespace) else HIDDEN
        return told.start_unknown.replace(told.start_job, name, 1)


def jobs_of(sources: Sources) -> JobOf:
    """Give what names the job of a Workload."""

    def job(key: str) -> str:
        found = sources.workload(key)
        return "" if found is None else _job(found)

    return job


def ref_of(workload: Object) -> JobRef:
    """Name the job of a Workload, for whoever may see it."""
    return JobRef("/".join(key_of(workload)), _job(workload))


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
    since = admission.reserved_at if admission is not None else 0
    ends = since + workload.run_time if admission is not None and workload.run_time is not None else 0
    return WorkloadRow(
        workload.namespace,
        workload.name,
        state,
        job="" if found is None else _job(found),
        local_queue=workload.queue_name,
        cluster_queue=_queue(sources, entry, found),
        user=workload.user,
        priority=workload.priority,
        created=_created(found) or workload.created,
        asks=requests_of(workload),
        ends=ends,
        **{"since": since, **_wait_or_end(sources, told, found, state)},
    )


def _queue(sources: Sources, entry: Entry, found: Object | None) -> str:
    """Name the ClusterQueue whose quota one holds, waits for, or held when it finished."""
    if entry.admission is not None:
        return entry.admission.cluster_queue
    if entry.pending_queue is not None:
        return entry.pending_queue.queue.name
    door = sources.state.local_queues.get(f"{entry.workload.namespace}/{entry.workload.queue_name}")
    return (queue_of(found) if found is not None else "") or (door.cluster_queue if door is not None else "")


def queue_of(workload: Object) -> str:
    """Name the ClusterQueue that a Workload holds quota of, or held when it ended; empty for none."""
    return str(at(workload, ("status", "admission", "clusterQueue")) or "")


def _wait_or_end(sources: Sources, told: Pending | None, found: Object | None, state: str) -> dict[str, Any]:
    if told is not None:
        own = Named(jobs_of(sources), lambda namespace: told.workload.startswith(f"{namespace}/"))
        since = {"since": queued_at(found)} if found is not None and state == PENDING else {}
        return {**_wait(told), "start_unknown": own.start_unknown(told), **since}
    return _end(found) if found is not None and state == FINISHED else {}


def _wait(told: Pending) -> dict[str, Any]:
    return {
        "position": told.position,
        "place": told.place.value,
        "reason": told.reason.value,
        "message": message_of(told),
        "start": told.start or 0,
    }


def _end(found: Object) -> dict[str, Any]:
    ended, reserved = find(found, FINISHED) or {}, find(found, RESERVED) or {}
    began = milliseconds(reserved.get("lastTransitionTime")) if reserved.get("status") == "True" else 0
    return {
        "since": began,
        "ended": milliseconds(ended.get("lastTransitionTime")),
        "outcome": str(ended.get("reason") or ""),
        "message": str(ended.get("message") or ""),
    }


def shortage_rows(shortages: Iterable[Shortage], named: Named) -> tuple[ShortageRow, ...]:
    """Give what is lacking; holders that the reader may not see keep their amounts only."""
    return tuple(
        ShortageRow(
            s.pod_set, s.flavor, s.resource, s.asked, s.free, s.most, s.nominal, s.borrowed, s.beside, s.note,
            tuple(_holder(holder, named) for holder in s.holders),
        )
        for s in shortages
    )  # fmt: skip


def _holder(holder: Holder, named: Named) -> HolderRow:
    ref = named.ref(holder.workload, holder.cluster_queue)
    return HolderRow(holder.amount, ref.cluster_queue, ref.workload, ref.job, holder.ends or 0)


def _job(workload: Mapping[str, Any]) -> str:
    _, kind, name = owner_of(dict(workload))
    return f"{kind}/{name}" if kind else ""


def _created(workload: Mapping[str, Any] | None) -> int:
    return milliseconds(workload["metadata"].get("creationTimestamp")) if workload is not None else 0
