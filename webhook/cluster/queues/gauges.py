"""Gauges of quota, and of LocalQueues, under Kueue's names and labels: set anew from the counts of all queues.

A queue that is gone is gone from them too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from webhook.cluster.queues.status import Amounts, QueueCount

_ROLE: Final = "replica_role"
_QUEUE: Final = ("name", "namespace")
_CELL: Final = ("flavor", "resource")


class QueueGauges:
    """The gauges of one replica."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, words: str, *labels: str) -> Gauge:
            return Gauge(f"kueue_{name}", words, [*labels, _ROLE], registry=registry)

        cell = ("cohort", "cluster_queue", *_CELL)
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
        self._all: Final = [value for value in vars(self).values() if isinstance(value, Gauge)]

    def set(self, cluster_queues: Iterable[QueueCount], local_queues: Iterable[QueueCount], role: str) -> None:
        """Show these counts."""
        for gauge in self._all:
            gauge.clear()
        for count in cluster_queues:
            at = (count.cohort, count.name)
            _fill(self._nominal, at, count.nominal, role)
            _fill(self._borrowing, at, count.borrowing, role)
            _fill(self._lending, at, count.lending, role)
            _fill(self._usage, at, count.used, role)
        for count in local_queues:
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


def _fill(gauge: Gauge, at: tuple[str, str], amounts: Amounts, role: str) -> None:
    for (flavor, resource), amount in amounts.items():
        gauge.labels(*at, flavor, resource, role).set(amount / 1000 if resource == "cpu" else amount)
