"""Counts and usage of each queue, and the status of ClusterQueues, LocalQueues and Cohorts made of them. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final

from webhook.api import amounts
from webhook.api.snapshot.queue_objects import history, history_status
from webhook.api.stop_policy import is_stopped
from webhook.cluster.core.protocol import QueueFacts
from webhook.cluster.pace import Pass
from webhook.cluster.queues.conditions import Activity, Known, flavors_of, of_cluster_queue, of_local_queue
from webhook.cluster.queues.counts import FlavorResource, Waits, WorkloadCount, WorkloadCounts
from webhook.kube.conditions import conditions_of, with_condition
from webhook.kube.fields import at
from webhook.queue.model import History
from webhook.queue.quota.shares import CurrentShares
from webhook.store.objects import Object, key_of

Amounts = dict[FlavorResource, int]
NO_FACTS: Final = QueueFacts()
INFINITE_SHARE: Final = 2**63 - 1
"""The share of a borrower with weight 0."""


@dataclass(slots=True)
class QueueCount:
    """Counts of a queue. `name` is that of a ClusterQueue, or `namespace/name` of a LocalQueue.

    `share` is that of fair sharing, in thousandths. A LocalQueue has its ClusterQueue as `target`, and a weighted
    `usage` with admission fair sharing; `stopped`: its workloads are in no queue, and so not pending. `asked` is what
    pending workloads request, by resource. `cells` are the flavors and resources that the ClusterQueue has now.
    """

    name: str
    cohort: str = ""
    target: str = ""
    stopped: bool = False
    share: float | None = None
    usage: float | None = None
    activity: Activity = field(default_factory=Activity)
    pending: int = 0
    inadmissible: int = 0
    reserving: int = 0
    admitted: int = 0
    finished: int = 0
    unadmitted: Counter[Waits] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    nominal: Amounts = field(default_factory=dict)
    borrowing: Amounts = field(default_factory=dict)
    lending: Amounts = field(default_factory=dict)
    cells: tuple[FlavorResource, ...] = ()
    reserved: Counter[FlavorResource] = field(default_factory=Counter)
    used: Counter[FlavorResource] = field(default_factory=Counter)

    def add(self, count: WorkloadCount, *, stopped: bool) -> None:
        """Add the counts of Workloads; `stopped`: their LocalQueue is."""
        self.pending += count.pending_in(stopped=stopped)
        self.reserving += count.reserving
        self.admitted += count.admitted
        self.finished += count.finished
        self.unadmitted.update(count.unadmitted)
        for sums, parts in ((self.reserved, count.reserved), (self.used, count.used)):
            for cell, number in parts.items():
                sums[cell] += number

    def shown(self, sums: Counter[FlavorResource]) -> Amounts:
        """Return the reserved or used amounts of the current `cells`: no others are shown, as in Kueue."""
        return {cell: sums[cell] for cell in self.cells}


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """All queues by name."""

    cluster_queues: dict[str, QueueCount]
    local_queues: dict[str, QueueCount]
    facts: QueueFacts = NO_FACTS


def tally(
    cluster_queues: Iterable[Object],
    local_queues: Iterable[Object],
    known: Known,
    workloads: WorkloadCounts,
    facts: QueueFacts = NO_FACTS,
) -> Pass[QueueCounts]:
    """Return, in steps, the counts of each queue.

    A Workload that changes meanwhile may be missed or counted twice; its change leads to another count.
    """
    by_name: dict[str, QueueCount] = {}
    for queue in cluster_queues:
        by_name[key_of(queue)[1]] = _cluster_queue(queue, known)
        yield
    counted_locals: dict[str, QueueCount] = {}
    targets: dict[str, str] = {}
    for queue in local_queues:
        key = "/".join(key_of(queue))
        targets[key] = target = str(at(queue, ("spec", "clusterQueue")) or "")
        counted_locals[key] = _local_queue(queue, key, target, by_name.get(target))
        yield
    for (local, holder), count in list(workloads.by_way.items()):
        target = targets.get(local, "")
        # as in Kueue, a LocalQueue without a ClusterQueue has no counts
        local_queue = counted_locals.get(local) if target in by_name else None
        for counted in (local_queue, by_name.get(holder or target)):
            if counted is not None:
                counted.add(count, stopped=local in counted_locals and counted_locals[local].stopped)
        yield
    for local, number in list(workloads.inadmissible.items()):
        if (target := targets.get(local, "")) in by_name:
            number = min(number, counted_locals[local].pending)
            by_name[target].inadmissible += number
            counted_locals[local].inadmissible += number
    for queue_count in (*by_name.values(), *counted_locals.values()):
        if queue_count.activity.status != "active":
            queue_count.inadmissible = queue_count.pending
    _add_facts(by_name, counted_locals, facts)
    return QueueCounts(by_name, counted_locals, facts)


def _add_facts(queues: dict[str, QueueCount], local_queues: dict[str, QueueCount], facts: QueueFacts) -> None:
    for name, count in queues.items():
        count.share = None if facts.shares is None else facts.shares.cluster_queues.get(name, 0.0)
    for name, asked in facts.asked.items():
        local = local_queues.get(name)
        if local is not None and not local.stopped and (queue := queues.get(local.target)) is not None:
            queue.asked.update(asked)
    for name, usage in facts.usage.items():
        if name in local_queues:
            local_queues[name].usage = usage


def _cluster_queue(queue: Object, known: Known) -> QueueCount:
    out = QueueCount(key_of(queue)[1], cohort=str(at(queue, ("spec", "cohortName")) or ""))
    for entry in flavors_of(queue):
        for quota in entry.get("resources") or []:
            key = (str(entry.get("name")), str(quota.get("name")))
            out.nominal[key] = amounts.amount(key[1], quota.get("nominalQuota") or 0)
            for limits, name in ((out.borrowing, "borrowingLimit"), (out.lending, "lendingLimit")):
                if (limit := quota.get(name)) is not None:
                    limits[key] = amounts.amount(key[1], limit)
            out.asked[key[1]] += 0
    out.cells = tuple(out.nominal)
    out.activity = of_cluster_queue(queue, known)
    return out


def _local_queue(queue: Object, key: str, name: str, target: QueueCount | None) -> QueueCount:
    return QueueCount(
        key,
        target=name,
        stopped=is_stopped(queue),
        activity=of_local_queue(queue, target.activity if target else None),
        cells=target.cells if target else (),
    )


def status_of(queue: Object, counts: QueueCount, now: str, used: History | None, *, local: bool) -> dict[str, Any]:
    """Return the status of a queue; equal to the present one if nothing changed.

    `used` is its recent usage, None if that is not recorded. It is written once per sampling interval if it changed.
    """
    is_active = counts.activity.status == "active"
    reason, message = counts.activity.reason, counts.activity.message
    conditions = with_condition(conditions_of(queue), "Active", is_active, reason, message, now)
    old = queue.get("status") or {}
    return {
        **old,
        "conditions": conditions,
        "pendingWorkloads": counts.pending,
        "reservingWorkloads": counts.reserving,
        "admittedWorkloads": counts.admitted,
        **_usage(old, "flavorsReservation", _rows(counts, counts.reserved, local=local)),
        **_usage(old, "flavorsUsage", _rows(counts, counts.used, local=local)),
        **_fair_sharing(queue, counts.share, None if used is None else _of_all(counts, used)),
    }


def _of_all(counts: QueueCount, used: History) -> History:
    """Return the recent usage with 0 for the other resources of the queue, as Kueue shows it."""
    return replace(used, usage={**{resource: 0.0 for _, resource in counts.cells}, **used.usage})


def with_share(cohort: Object, shares: CurrentShares | None) -> dict[str, Any]:
    """Return the status of a Cohort; equal to the present one if nothing changed."""
    share = None if shares is None else shares.cohorts.get(key_of(cohort)[1], 0.0)
    return {**(cohort.get("status") or {}), **_fair_sharing(cohort, share, None)}


def _fair_sharing(obj: Object, share: float | None, used: History | None) -> dict[str, Any]:
    """Return the changes of `fairSharing`, as a part of a status.

    Kueue's CRDs require a share if there is a history; that of a LocalQueue is 0.
    """
    old = at(obj, ("status", "fairSharing")) or {}
    new = dict(old)
    if used is not None:
        recorded = history(old.get("admissionFairSharingStatus"))
        if used.at > recorded.at and (not recorded.at or used.usage != recorded.usage):
            new["admissionFairSharingStatus"] = history_status(used)
    if share is None and "admissionFairSharingStatus" not in new:
        return {"fairSharing": None} if old else {}
    new["weightedShare"] = INFINITE_SHARE if math.isinf(share or 0.0) else math.ceil(share or 0.0)
    return {"fairSharing": new} if new != old else {}


def _usage(old: Object, field: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a field with usage; None as its value removes it in a merge patch."""
    return {field: rows} if rows else {field: None} if field in old else {}


def _rows(counts: QueueCount, sums: Counter[FlavorResource], *, local: bool) -> list[dict[str, Any]]:
    """Return usage by flavor, in the order of the quotas; resources by name, as Kueue writes them."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for (flavor, resource), number in counts.shown(sums).items():
        row: dict[str, Any] = {"name": resource, "total": amounts.text(resource, number)}
        if not local:
            borrowed = number - counts.nominal[flavor, resource] if counts.cohort else 0
            row["borrowed"] = amounts.text(resource, max(0, borrowed))
        rows.setdefault(flavor, []).append(row)
    by_name = itemgetter("name")
    return [{"name": flavor, "resources": sorted(resources, key=by_name)} for flavor, resources in rows.items()]
