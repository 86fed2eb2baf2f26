"""Gauges of ClusterQueues and LocalQueues under Kueue's names and labels: set anew from the counts of all queues.

A queue that is gone is gone from them too.
"""

from __future__ import annotations

import math
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from webhook.cluster.queues.status import Amounts, QueueCounts

_ROLE: Final = "replica_role"
_QUEUE: Final = ("name", "namespace")
_CELL: Final = ("flavor", "resource")


class QueueGauges:
    """The gauges of one replica."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, words: str, *labels: str) -> Gauge:
            return Gauge(f"kueue_{name}", words, [*labels, _ROLE], registry=registry)

        cell, queue = ("cohort", "cluster_queue", *_CELL), "cluster_queue"
        self._waiting = gauge("pending_workloads", "Pending workloads.", queue, "status")
        self._holding = gauge("reserving_active_workloads", "Workloads with reserved quota.", queue)
        self._running = gauge("admitted_active_workloads", "Admitted workloads.", queue)
        self._state = gauge("cluster_queue_status", "1 for the current status.", queue, "status")
        self._taken = gauge("cluster_queue_resource_reservation", "Quota reserved.", *cell)
        self._nominal = gauge("cluster_queue_nominal_quota", "Nominal quota.", *cell)
        self._borrowing = gauge("cluster_queue_borrowing_limit", "Borrowing limit, where there is one.", *cell)
        self._lending = gauge("cluster_queue_lending_limit", "Lending limit, where there is one.", *cell)
        self._usage = gauge("cluster_queue_resource_usage", "Quota of admitted workloads.", *cell)
        self._pending = gauge("local_queue_pending_workloads", "Pending workloads.", *_QUEUE, "status")
        self._reserving = gauge("local_queue_reserving_active_workloads", "Workloads with reserved quota.", *_QUEUE)
        self._admitted = gauge("local_queue_admitted_active_workloads", "Admitted workloads.", *_QUEUE)
        self._status = gauge("local_queue_status", "1 for the current status of Active.", *_QUEUE, "active")
        self._reserved = gauge("local_queue_resource_reservation", "Quota reserved.", *_QUEUE, *_CELL)
        self._used = gauge("local_queue_resource_usage", "Quota of admitted workloads.", *_QUEUE, *_CELL)
        share = "Thousandths borrowed of what is lent, by weight; NaN where one without weight borrows."
        self._share = gauge("cluster_queue_weighted_share", share, "cluster_queue", "cohort")
        self._cohort_share = gauge("cohort_weighted_share", share, "cohort")
        self._all: Final = [value for value in vars(self).values() if isinstance(value, Gauge)]

    def clear(self) -> None:
        """Show nothing: another replica leads."""
        for gauge in self._all:
            gauge.clear()

    def set(self, counts: QueueCounts, role: str) -> None:
        """Show these counts."""
        self.clear()
        for count in counts.cluster_queues.values():
            name, at = count.name, (count.cohort, count.name)
            self._waiting.labels(name, "active", role).set(count.pending - count.inadmissible)
            self._waiting.labels(name, "inadmissible", role).set(count.inadmissible)
            self._holding.labels(name, role).set(count.reserving)
            self._running.labels(name, role).set(count.admitted)
            for status in ("pending", "active", "terminating"):
                self._state.labels(name, status, role).set(int(count.activity.status == status))
            _fill(self._taken, at, count.reserved, role)
            _fill(self._nominal, at, count.nominal, role)
            _fill(self._borrowing, at, count.borrowing, role)
            _fill(self._lending, at, count.lending, role)
            _fill(self._usage, at, count.used, role)
            if count.share is not None:
                self._share.labels(count.name, count.cohort, role).set(_shown(count.share))
        for name, share in counts.shares.cohorts.items() if counts.shares is not None else ():
            self._cohort_share.labels(name, role).set(_shown(share))
        for count in counts.local_queues.values():
            namespace, _, name = count.name.partition("/")
            queue = (name, namespace)
            self._pending.labels(*queue, "active", role).set(count.pending - count.inadmissible)
            self._pending.labels(*queue, "inadmissible", role).set(count.inadmissible)
            self._reserving.labels(*queue, role).set(count.reserving)
            self._admitted.labels(*queue, role).set(count.admitted)
            is_active = "True" if count.activity.status == "active" else "False"
            for status in ("True", "False", "Unknown"):
                self._status.labels(*queue, status, role).set(int(status == is_active))
            _fill(self._reserved, queue, count.reserved, role)
            _fill(self._used, queue, count.used, role)


def _shown(share: float) -> float:
    return math.nan if math.isinf(share) else share


def _fill(gauge: Gauge, at: tuple[str, str], amounts: Amounts, role: str) -> None:
    for (flavor, resource), amount in amounts.items():
        gauge.labels(*at, flavor, resource, role).set(amount / 1000 if resource == "cpu" else amount)
