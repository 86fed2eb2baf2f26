"""Gauges of ClusterQueues and LocalQueues under Kueue's names and labels, computed from the latest counts when read.

A thousand queues have thirty thousand samples; updating them whenever a count changes would delay admission requests.
Series of deleted queues disappear.
"""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from webhook import __version__
from webhook.cluster.core.protocol import CohortFacts
from webhook.cluster.queues.counts import FlavorResource
from webhook.cluster.queues.status import QueueCount, QueueCounts
from webhook.cluster.queues.workload_metrics import ROLE

_QUEUE: Final = ("name", "namespace")
_CELL: Final = ("flavor", "resource")
_WHY: Final = ("reason", "underlying_cause")
_PLACE: Final = ("parent_cohort", "root_cohort")
_UNADMITTED: Final = "Workloads that are not admitted, by the reasons in their conditions."
_SHARE: Final = "Thousandths borrowed of what is lent, by weight; NaN where one without weight borrows."


class QueueGauges(Collector):
    """The gauges of one replica. They may be read in another thread: the counts are not changed afterwards."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._shown: tuple[QueueCounts, str] = QueueCounts({}, {}), ""
        registry.register(self)

    def clear(self) -> None:
        """Export nothing: this replica does not lead."""
        self._shown = QueueCounts({}, {}), ""

    def show(self, counts: QueueCounts, role: str) -> None:
        """Export these counts from now on."""
        self._shown = counts, role

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families, for a registry."""
        counts, role = self._shown
        yield from _of_cluster_queues(counts.cluster_queues.values(), role)
        yield from _of_waiting(counts.cluster_queues.values(), role)
        yield from _of_local_queues(counts.local_queues.values(), role)
        yield from _of_use_and_waiting(counts.local_queues.values(), role)
        yield from _of_shares(counts, role)
        yield from _of_cohorts(counts, role)
        yield _of_build()


def _of_cluster_queues(counts: Iterable[QueueCount], role: str) -> Iterator[Metric]:
    queue, cell = "cluster_queue", ("cohort", "cluster_queue", *_CELL)
    waiting = _gauge("pending_workloads", "Pending workloads.", queue, "status")
    holding = _gauge("reserving_active_workloads", "Workloads with reserved quota.", queue)
    running = _gauge("admitted_active_workloads", "Admitted workloads.", queue)
    state = _gauge("cluster_queue_status", "1 for the current status.", queue, "status")
    taken = _gauge("cluster_queue_resource_reservation", "Quota reserved.", *cell)
    nominal = _gauge("cluster_queue_nominal_quota", "Nominal quota.", *cell)
    borrowing = _gauge("cluster_queue_borrowing_limit", "Borrowing limit; +Inf if there is none.", *cell)
    lending = _gauge("cluster_queue_lending_limit", "Lending limit; +Inf if there is none.", *cell)
    usage = _gauge("cluster_queue_resource_usage", "Quota of admitted workloads.", *cell)
    for count in counts:
        name, at = count.name, (count.cohort, count.name)
        _fill_waiting(waiting, (name,), count, role)
        holding.add_metric((name, role), count.reserving)
        running.add_metric((name, role), count.admitted)
        for status in ("pending", "active", "terminating"):
            state.add_metric((name, status, role), int(count.activity.status == status))
        _fill(taken, at, count.shown(count.reserved), role)
        _fill(nominal, at, count.nominal, role)
        _fill(borrowing, at, {cell: count.borrowing.get(cell, math.inf) for cell in count.nominal}, role)
        _fill(lending, at, {cell: count.lending.get(cell, math.inf) for cell in count.nominal}, role)
        _fill(usage, at, count.shown(count.used), role)
    yield from (waiting, holding, running, state, taken, nominal, borrowing, lending, usage)


def _of_waiting(counts: Iterable[QueueCount], role: str) -> Iterator[Metric]:
    """Yield finished and pending Workloads, and pending requests, of ClusterQueues."""
    finished = _gauge("finished_workloads", "Finished workloads that are not deleted yet.", "cluster_queue")
    unadmitted = _gauge("unadmitted_workloads", _UNADMITTED, "cluster_queue", *_WHY)
    asked = _gauge("cluster_queue_resource_pending", "Requests of pending workloads.", "cluster_queue", "resource")
    for count in counts:
        finished.add_metric((count.name, role), count.finished)
        for why, number in count.unadmitted.items():
            unadmitted.add_metric((count.name, *why, role), number)
        for resource, amount in count.asked.items():
            asked.add_metric((count.name, resource, role), _amount(resource, amount))
    yield from (finished, unadmitted, asked)


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
        _fill(reserved, queue, count.shown(count.reserved), role)
        _fill(used, queue, count.shown(count.used), role)
    yield from (pending, reserving, admitted, state, reserved, used)


def _of_use_and_waiting(counts: Iterable[QueueCount], role: str) -> Iterator[Metric]:
    """Yield finished, pending and unadmitted Workloads, and the weighted usage, of LocalQueues."""
    finished = _gauge("local_queue_finished_workloads", "Finished workloads that are not deleted yet.", *_QUEUE)
    unadmitted = _gauge("local_queue_unadmitted_workloads", _UNADMITTED, *_QUEUE, "cluster_queue", *_WHY)
    words = "Decayed usage that admission fair sharing goes by, weighted."
    usage = _gauge("local_queue_admission_fair_sharing_usage", words, *_QUEUE, "cluster_queue")
    for count in counts:
        namespace, _, name = count.name.partition("/")
        finished.add_metric((name, namespace, role), count.finished)
        for why, number in count.unadmitted.items():
            unadmitted.add_metric((name, namespace, count.target, *why, role), number)
        if count.usage is not None:
            usage.add_metric((name, namespace, count.target, role), count.usage)
    yield from (finished, unadmitted, usage)


def _of_shares(counts: QueueCounts, role: str) -> Iterator[Metric]:
    share = _gauge("cluster_queue_weighted_share", _SHARE, "cluster_queue", "cohort")
    for count in counts.cluster_queues.values():
        if count.share is not None:
            share.add_metric((count.name, count.cohort, role), _number(count.share))
    yield share
    cohort_share = _gauge("cohort_weighted_share", _SHARE, "cohort")
    shares = counts.facts.shares
    for name, value in shares.cohorts.items() if shares is not None else ():
        cohort_share.add_metric((name, role), _number(value))
    yield cohort_share


def _of_cohorts(counts: QueueCounts, role: str) -> Iterator[Metric]:
    """Yield the place of cohorts and queues in their trees, and the quota and counts of each cohort's subtree."""
    cell = ("cohort", *_CELL)
    quota = _gauge("cohort_subtree_quota", "Quota of a cohort with all below it.", *cell)
    held = _gauge("cohort_subtree_resource_reservations", "Quota reserved in a cohort and below it.", *cell)
    running = _gauge("cohort_subtree_admitted_active_workloads", "Admitted workloads below a cohort.", "cohort")
    place = _gauge("cohort_info", "1 for the place of a cohort in its tree.", "cohort", *_PLACE)
    queue = _gauge("cluster_queue_info", "1 for the place of a ClusterQueue in its tree.", "cluster_queue", *_PLACE)
    cohorts = counts.facts.cohorts
    reserved: dict[str, Counter[FlavorResource]] = {name: Counter() for name in cohorts}
    admitted = dict.fromkeys(cohorts, 0)
    for count in counts.cluster_queues.values():
        above = list(_above(count.cohort, cohorts))
        queue.add_metric((count.name, count.cohort, cohorts[above[0]].root if above else "", role), 1)
        for name in above:
            reserved[name].update(count.reserved)
            admitted[name] += count.admitted
    for name, facts in cohorts.items():
        place.add_metric((name, facts.parent, facts.root, role), 1)
        running.add_metric((name, role), admitted[name])
        _fill(quota, (name,), {cell: amount for cell, amount in facts.quota.items() if amount > 0}, role)
        _fill(held, (name,), {cell: amount for cell, amount in reserved[name].items() if amount > 0}, role)
    yield from (quota, held, running, place, queue)


def _above(cohort: str, cohorts: Mapping[str, CohortFacts]) -> Iterator[str]:
    """Yield a cohort and its ancestors; a cycle ends where it began."""
    seen: set[str] = set()
    while cohort in cohorts and cohort not in seen:
        seen.add(cohort)
        yield cohort
        cohort = cohorts[cohort].parent


def _of_build() -> Metric:
    labels = ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform")
    family = GaugeMetricFamily("kueue_build_info", "1 for the version of Sluice that runs.", labels=labels)
    system = f"{platform.system().lower()}/{platform.machine()}"
    family.add_metric((f"sluice-{__version__}", "", "", "", platform.python_implementation(), system), 1)
    return family


def _gauge(name: str, words: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"kueue_{name}", words, labels=[*labels, ROLE])


def _number(share: float) -> float:
    return math.nan if math.isinf(share) else share


def _fill_waiting(gauge: GaugeMetricFamily, at: Sequence[str], count: QueueCount, role: str) -> None:
    gauge.add_metric((*at, "active", role), count.pending - count.inadmissible)
    gauge.add_metric((*at, "inadmissible", role), count.inadmissible)


def _fill(gauge: GaugeMetricFamily, at: Sequence[str], amounts: Mapping[FlavorResource, float], role: str) -> None:
    for (flavor, resource), amount in amounts.items():
        gauge.add_metric((*at, flavor, resource, role), _amount(resource, amount))


def _amount(resource: str, amount: float) -> float:
    return amount / 1000 if resource == "cpu" else amount
