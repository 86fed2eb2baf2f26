"""A workload as a row of a list, and what it lacks: the core's records, with what the reader may not see left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.pending_message import message_of, start_unknown_of
from webhook.api.state_of_workload import INACTIVE, PENDING, workload_state
from webhook.api.workload_owner import owner_of
from webhook.cluster.workloads.conditions import cluster_queue_of
from webhook.cluster.workloads.events import queued_at
from webhook.dashboard.model.queues import WorkloadRow
from webhook.dashboard.model.workloads import HolderRow, JobRef, ShortageRow
from webhook.dashboard.sources import Sources
from webhook.kube.condition_types import ADMITTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import find
from webhook.kube.times import milliseconds
from webhook.queue.decisions import Holder, Pending, Shortage
from webhook.queue.definitions import local_of
from webhook.queue.explain import Gathered, describe
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.quota.usage_by_owner import requests_of
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

    def start_unknown(self, why: str, job: str) -> str:
        """Return why there is no expected start; a job (`namespace/name`) that the reader may not see has no name."""
        if not job:
            return why
        name = (self.job(job) or job) if self.sees(job.partition("/")[0]) else HIDDEN
        return why.replace(job, name, 1)


def jobs_of(sources: Sources) -> JobOf:
    """Return what names the job of a Workload."""

    def job(key: str) -> str:
        found = sources.workload(key)
        return "" if found is None else _job(found)

    return job


def ref_of(workload: Object) -> JobRef:
    """Name the job of a Workload, for whoever may see it."""
    return JobRef("/".join(key_of(workload)), _job(workload))


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes the rows of lists for one reader."""

    sources: Sources
    named: Named

    def waiting(self, entry: Entry, gathered: Gathered, position: int) -> WorkloadRow:
        """Return the row of one that waits; those of one queue share what is `gathered`."""
        return self._row(entry, PENDING, describe(self.sources.state, entry, gathered, position))

    def any(self, entry: Entry, told: Pending | None) -> WorkloadRow:
        """Return the row of one wherever it stands; `told` is why it waits."""
        found = self.sources.workload(entry.key)
        if found is not None:
            return self._row(entry, workload_state(found)[0], told)
        if entry.workload.finished:
            return self._row(entry, FINISHED, None)
        if entry.status == Status.HOLDING:
            return self._row(entry, ADMITTED if entry.admitted else QUOTA_RESERVED, told)
        return self._row(entry, PENDING if entry.workload.active else INACTIVE, told)

    def _row(self, entry: Entry, state: str, told: Pending | None) -> WorkloadRow:
        workload, admission, found = entry.workload, entry.admission, self.sources.workload(entry.key)
        since = admission.reserved_at if admission is not None else 0
        ends = since + workload.run_time if admission is not None and workload.run_time is not None else 0
        rest: dict[str, Any] = {}
        if told is not None:
            rest = self._wait(told) | ({"since": queued_at(found)} if found is not None and state == PENDING else {})
        elif found is not None and state == FINISHED:
            rest = _end(found)
        return WorkloadRow(
            workload.namespace,
            workload.name,
            state,
            job="" if found is None else _job(found),
            local_queue=workload.queue_name,
            cluster_queue=_queue(self.sources, entry, found),
            user=workload.user,
            priority=workload.priority,
            created=_created(found) or workload.created,
            asks=requests_of(workload),
            ends=ends,
            **{"since": since, **rest},
        )

    def _wait(self, told: Pending) -> dict[str, Any]:
        return {
            "position": told.position,
            "place": told.place.value,
            "reason": told.reason.value,
            "message": message_of(told),
            "start": told.start or 0,
            "start_unknown": self.named.start_unknown(
                start_unknown_of(told.start_unknown, told.start_blocked), told.start_job
            ),
        }


def _queue(sources: Sources, entry: Entry, found: Object | None) -> str:
    """Name the ClusterQueue whose quota one holds, waits for, or held when it finished."""
    if entry.admission is not None:
        return entry.admission.cluster_queue
    if entry.pending_queue is not None:
        return entry.pending_queue.queue.name
    local_queue = sources.state.local_queues.get(local_of(entry.workload))
    if found is not None and (holder := cluster_queue_of(found)):
        return holder
    return local_queue.cluster_queue if local_queue is not None else ""


def _end(found: Object) -> dict[str, Any]:
    ended, reserved = find(found, FINISHED) or {}, find(found, QUOTA_RESERVED) or {}
    began = milliseconds(reserved.get("lastTransitionTime")) if reserved.get("status") == "True" else 0
    return {
        "since": began,
        "ended": milliseconds(ended.get("lastTransitionTime")),
        "outcome": str(ended.get("reason") or ""),
        "message": str(ended.get("message") or ""),
    }


def shortage_rows(shortages: Iterable[Shortage], named: Named) -> tuple[ShortageRow, ...]:
    """Return what is lacking; holders that the reader may not see keep their amounts only."""
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
