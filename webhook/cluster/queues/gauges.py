"""Gauges of ClusterQueues and LocalQueues under Kueue's names and labels: made of the latest counts when they are read.

A thousand queues have thirty thousand samples; making them whenever a count changes would keep reviews waiting. A queue
that is gone is gone from them too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from webhook.cluster.queues.status import Amounts, QueueCount, QueueCounts

_ROLE: Final = "replica_role"
_QUEUE: Final = ("name", "namespace")
_CELL: Final = ("flavor", "resource")
_SHARE: Final = "Thousandths borrowed of what is lent, by weight; NaN where one without weight borrows."


class QueueGauges(Collector):
    """The gauges of one replica. They may be read in another thread: counts that are shown do not change."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._shown: tuple[QueueCounts, str] = QueueCounts({}, {}), ""
        registry.register(self)

    def clear(self) -> None:
        """Show nothing: another replica leads."""
        self._shown = QueueCounts({}, {}), ""

    def show(self, counts: QueueCounts, role: str) -> None:
        """Show these counts from now on."""
        self._shown = counts, role

    def collect(self) -> Iterator[Metric]:
        """Give all families, for a registry."""
        counts, role = self._shown
        yield from _of_cluster_queues(counts.cluster_queues.values(), role)
        yield from _of_local_queues(counts.local_queues.values(), role)
        yield from _of_shares(counts, role)


def _of_cluster_queues(counts: Iterable[QueueCount], role: str) -> Iterator[Metric]:
    queue, cell = "cluster_queue", ("cohort", "cluster_queue", *_CELL)
    waiting = _gauge("pending_workloads", "Pending workloads.", queue, "status")
    holding = _gauge("reserving_active_workloads", "Workloads with reserved quota.", queue)
    running = _gauge("admitted_active_workloads", "Admitted workloads.", queue)
    state = _gauge("cluster_queue_status", "1 for the current status.", queue, "status")
    taken = _gauge("cluster_queue_resource_reservation", "Quota reserved.", *cell)
    nominal = _gauge("cluster_queue_nominal_quota", "Nominal quota.", *cell)
    borrowing = _gauge("cluster_queue_borrowing_limit", "Borrowing limit, where there is one.", *cell)
    lending = _gauge("cluster_queue_lending_limit", "Lending limit, where there is one.", *cell)
    usage = _gauge("cluster_queue_resource_usage", "Quota of admitted workloads.", *cell)
    for count in counts:
        name, at = count.name, (count.cohort, count.name)
        _fill_waiting(waiting, (name,), count, role)
        holding.add_metric((name, role), count.reserving)
        running.add_metric((name, role), count.admitted)
        for status in ("pending", "active", "terminating"):
            state.add_metric((name, status, role), int(count.activity.status == status))
        _fill(taken, at, count.reserved, role)
        _fill(nominal, at, count.nominal, role)
        _fill(borrowing, at, count.borrowing, role)
        _fill(lending, at, count.lending, role)
        _fill(usage, at, count.used, role)
    yield from (waiting, holding, running, state, taken, nominal, borrowing, lending, usage)


def _of_local_queues(counts: Iterable[QueueCount], role: str) -> Iterator[Metric]:
    pending = _gauge("local_queue_pending_workloads", "Pending workloads.", *_QUEUE, "status")
    reserving = _gauge("local_queue_reserving_active_workloads", "Workloads with reserved quota.", *_QUEUE)
    admitted = _gauge("local_queue_admitted_active_workloads", "Admitted workloads.", *_QUEUE)
    state = _gauge("local_queue_status", "1 for the current status of Active.", *_QUEUE, "active")
    reserved = _gauge("local_queue_resource_reservation", "Quota reserved.", *_QUEUE, *_CELL)
    used = _gauge("local_queue_resource_usage", "Quota of admitted workloads.", *_QUEUE, *_CELL)
    for count in counts:
        namespace, _, name = count.name.partition("/")
        queue = (name, namespace)
        _fill_waiting(pending, queue, count, role)
        reserving.add_metric((*queue, role), count.reserving)
        admitted.add_metric((*queue, role), count.admitted)
        is_active = "True" if count.activity.status == "active" else "False"
        for status in ("True", "False", "Unknown"):
            state.add_metric((*queue, status, role), int(status == is_active))
        _fill(reserved, queue, count.reserved, role)
        _fill(used, queue, count.used, role)
    yield from (pending, reserving, admitted, state, reserved, used)


def _of_shares(counts: QueueCounts, role: str) -> Iterator[Metric]:
    share = _gauge("cluster_queue_weighted_share", _SHARE, "cluster_queue", "cohort")
    for count in counts.cluster_queues.values():
        if count.share is not None:
            share.add_metric((count.name, count.cohort, role), _number(count.share))
    yield share
    cohort_share = _gauge("cohort_weighted_share", _SHARE, "cohort")
    for name, value in counts.shares.cohorts.items() if counts.shares is not None else ():
        cohort_share.add_metric((name, role), _number(value))
    yield cohort_share


def _gauge(name: str, words: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"kueue_{name}", words, labels=[*labels, _ROLE])


def _number(share: float) -> float:
    return math.nan if math.isinf(share) else share


def _fill_waiting(gauge: GaugeMetricFamily, at: Sequence[str], count: QueueCount, role: str) -> None:
    gauge.add_metric((*at, "active", role), count.pending - count.inadmissible)
    gauge.add_metric((*at, "inadmissible", role), count.inadmissible)


def _fill(gauge: GaugeMetricFamily, at: Sequence[str], amounts: Amounts, role: str) -> None:
    for (flavor, resource), amount in amounts.items():
        gauge.add_metric((*at, flavor, resource, role), amount / 1000 if resource == "cpu" else amount)
