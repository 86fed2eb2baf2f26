"""Counts and usage of each queue, as its Workloads say: what the status of ClusterQueue and LocalQueue shows. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.api import amounts
from webhook.api.snapshot.quota import history, history_status
from webhook.cluster.queues.counts import FlavorResource, WorkloadCount, WorkloadCounts
from webhook.jobs.describe import at
from webhook.kube.conditions import conditions_of, with_condition
from webhook.queue.model import History
from webhook.store.objects import Object, key_of

Amounts = dict[FlavorResource, int]


@dataclass(slots=True)
class QueueCount:
    """One queue's counts. `name` is that of a ClusterQueue, or `namespace/name`."""

    name: str
    cohort: str = ""
    status: str = "active"
    problem: tuple[str, str] = ("Ready", "Can admit new workloads")
    pending: int = 0
    inadmissible: int = 0
    reserving: int = 0
    admitted: int = 0
    nominal: Amounts = field(default_factory=dict)
    reserved: Amounts = field(default_factory=lambda: defaultdict(int))
    used: Amounts = field(default_factory=lambda: defaultdict(int))

    def add(self, count: WorkloadCount) -> None:
        """Count Workloads that came one way."""
        self.pending += count.pending
        self.reserving += count.reserving
        self.admitted += count.admitted
        for sums, parts in ((self.reserved, count.reserved), (self.used, count.used)):
            for cell, number in parts.items():
                if number or cell in sums:
                    sums[cell] += number


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """All queues, by name."""

    cluster_queues: dict[str, QueueCount]
    local_queues: dict[str, QueueCount]


def tally(
    cluster_queues: Iterable[Object],
    local_queues: Iterable[Object],
    flavors: Iterable[Object],
    workloads: WorkloadCounts,
    parked: Iterable[str],
    inactive: Mapping[str, str],
) -> QueueCounts:
    """Count the Workloads of each queue; `parked` are the keys of those that wait for something to change.

    `inactive` says why ClusterQueues take nothing, by name.
    """
    known = {key_of(flavor)[1] for flavor in flavors}
    named = ((key_of(queue)[1], queue) for queue in cluster_queues)
    by_name = {name: _cluster_queue(queue, known, inactive.get(name, "")) for name, queue in named}
    doors = {}
    targets = {}
    for queue in local_queues:
        key = "/".join(key_of(queue))
        target = str(at(queue, ("spec", "clusterQueue")) or "")
        doors[key] = _local_queue(queue, key, by_name.get(target))
        targets[key] = target
    for (local, holder), count in workloads.by_way.items():
        for found in (doors.get(local), by_name.get(holder or targets.get(local, ""))):
            if found is not None:
                found.add(count)
    for key in parked:
        target = targets.get(workloads.local_of.get(key, ""), "")
        if target in by_name:
            by_name[target].inadmissible += 1
    return QueueCounts(by_name, doors)


def _cluster_queue(queue: Object, flavors: set[str], why: str) -> QueueCount:
    out = QueueCount(key_of(queue)[1], cohort=str(at(queue, ("spec", "cohortName")) or ""))
    for group in at(queue, ("spec", "resourceGroups")) or []:
        for entry in group.get("flavors") or []:
            for quota in entry.get("resources") or []:
                key = (str(entry.get("name")), str(quota.get("name")))
                out.nominal[key] = amounts.amount(key[1], quota.get("nominalQuota") or 0)
                out.reserved[key] += 0
                out.used[key] += 0
    absent = sorted({flavor for flavor, _ in out.reserved} - flavors)
    if at(queue, ("metadata", "deletionTimestamp")):
        out.status, out.problem = (
            "terminating",
            ("Terminating", "Can't admit new workloads: the ClusterQueue is being deleted"),
        )
    elif absent:
        names = ", ".join(absent)
        out.status, out.problem = (
            "pending",
            ("FlavorNotFound", f"Can't admit new workloads: ResourceFlavor {names} does not exist"),
        )
    elif (at(queue, ("spec", "stopPolicy")) or "None") != "None":
        out.status, out.problem = "pending", ("Stopped", "Can't admit new workloads: the ClusterQueue is stopped")
    elif why:
        out.status, out.problem = "pending", ("Inactive", f"Can't admit new workloads: {why}")
    return out


def _local_queue(queue: Object, key: str, target: QueueCount | None) -> QueueCount:
    out = QueueCount(key, problem=("Ready", "Can submit new workloads to the ClusterQueue"))
    if target is None:
        out.status, out.problem = (
            "pending",
            ("ClusterQueueDoesNotExist", "Can't submit new workloads: the ClusterQueue does not exist"),
        )
        return out
    for key_ in target.reserved:
        out.reserved[key_] += 0
        out.used[key_] += 0
    if (at(queue, ("spec", "stopPolicy")) or "None") != "None":
        out.status, out.problem = "pending", ("Stopped", "Can't submit new workloads: the LocalQueue is stopped")
    elif target.status != "active":
        out.status = "pending"
        out.problem = ("ClusterQueueIsInactive", "Can't submit new workloads: the ClusterQueue is not active")
    return out


def status_of(queue: Object, counts: QueueCount, now: str, used: History | None, *, local: bool) -> dict[str, Any]:
    """Give the status object of a queue; equal to what it has where nothing changed.

    `used` is what it used lately, None where no rule asks for that. It is written once per sampling point.
    """
    reason, message = counts.problem
    conditions = with_condition(conditions_of(queue), "Active", counts.status == "active", reason, message, now)
    return {
        **(queue.get("status") or {}),
        "conditions": conditions,
        "pendingWorkloads": counts.pending,
        "reservingWorkloads": counts.reserving,
        "admittedWorkloads": counts.admitted,
        "flavorsReservation": _rows(counts.reserved, None if local else counts.nominal),
        "flavorsUsage": _rows(counts.used, None if local else counts.nominal),
        **_fair_sharing(queue, used),
    }


def _fair_sharing(queue: Object, used: History | None) -> dict[str, Any]:
    old = at(queue, ("status", "fairSharing")) or {}
    if used is None or used.at <= history(old.get("admissionFairSharingStatus")).at:
        return {}
    return {"fairSharing": {**old, "admissionFairSharingStatus": history_status(used)}}


def _rows(used: Amounts, nominal: Amounts | None) -> list[dict[str, Any]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for (flavor, resource), number in used.items():
        row: dict[str, Any] = {"name": resource, "total": amounts.text(resource, number)}
        if nominal is not None:
            row["borrowed"] = amounts.text(resource, max(0, number - nominal.get((flavor, resource), 0)))
        rows.setdefault(flavor, []).append(row)
    return [{"name": flavor, "resources": resources} for flavor, resources in rows.items()]
