"""Counters and histograms of Workloads under Kueue's names, by ClusterQueue and by LocalQueue.

Names, labels and buckets are those of Kueue 0.20. Series of deleted queues are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from webhook.cluster.queues.names import QueueNames
from webhook.cluster.workloads.conditions import cluster_queue_of, why_evicted
from webhook.cluster.workloads.events import queued_at
from webhook.kube.condition_types import ADMITTED, PODS_READY, QUOTA_RESERVED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.kube.times import milliseconds
from webhook.queue.decisions import Admitted, PreemptionReason
from webhook.store.objects import Object, key_of

ROLE: Final = "replica_role"
SHORT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Buckets for short durations: the defaults of Prometheus' client for Go."""
CREATION: Final = tuple(0.01 * 2**n for n in range(11))


def _waiting(count: int) -> tuple[float, ...]:
    """Return the buckets for waits of up to hours, in seconds: 1, 2.5, 5, 10 and so on."""
    return (1.0, *(2.5 * 2**n for n in range(count - 1)))


@dataclass(frozen=True, slots=True)
class _Row:
    """A metric. Without `buckets` it is a counter; `local` are the buckets of the same metric by LocalQueue."""

    name: str
    words: str
    labels: tuple[str, ...] = ("priority_class",)
    buckets: Sequence[float] = ()
    local: Sequence[float] = ()
    is_local: bool = True


_EVICTION: Final = ("reason", "underlying_cause")
_ROWS: Final = (
    _Row("quota_reserved_workloads_total", "Workloads with a new quota reservation"),
    _Row("admitted_workloads_total", "Workloads admitted"),
    _Row("finished_workloads_total", "Workloads finished"),
    _Row("evicted_workloads_total", "Workloads evicted", (*_EVICTION, "priority_class")),
    _Row("evicted_workloads_once_total", "Workloads evicted for a reason for the first time",
         (*_EVICTION, "priority_class"), is_local=False),
    _Row("replaced_workload_slices_total", "Workloads of elastic jobs that another replaced", (), is_local=False),
    _Row("quota_reserved_wait_time_seconds", "Time from creation or requeueing to quota",
         buckets=_waiting(14), local=_waiting(14)),
    _Row("admission_wait_time_seconds", "Time from creation or requeueing to admission",
         buckets=_waiting(16), local=_waiting(14)),
    _Row("admission_checks_wait_time_seconds", "Time from quota to admission",
         buckets=_waiting(14), local=_waiting(14)),
    _Row("ready_wait_time_seconds", "Time from creation or requeueing to ready pods, if those are waited for",
         buckets=_waiting(14), local=_waiting(14)),
    _Row("admitted_until_ready_wait_time_seconds", "Time from admission to ready pods, if those are waited for",
         buckets=_waiting(14), local=_waiting(14)),
    _Row("execution_time_seconds", "Time for which a finished Workload was admitted, in all",
         buckets=_waiting(16), local=_waiting(16)),
    _Row("pods_ready_to_evicted_time_seconds", "Time from ready pods to an eviction", _EVICTION,
         buckets=_waiting(14), is_local=False),
    _Row("workload_eviction_latency_seconds", "Time from an eviction until the quota is released", ("reason",),
         buckets=_waiting(14), is_local=False),
)  # fmt: skip


class _Metric:
    """A metric with its series by their labels: to find one anew takes longer than to add to it."""

    def __init__(self, metric: Counter | Histogram) -> None:
        self._metric = metric
        self._of: dict[tuple[str, ...], Counter | Histogram] = {}

    def add(self, labels: tuple[str, ...], seconds: float | None) -> None:
        """Count one; `seconds` is its duration if that is what is measured."""
        series = self._of.get(labels)
        if series is None:
            series = self._of[labels] = self._metric.labels(*labels)
        if isinstance(series, Counter):
            series.inc()
        else:
            series.observe(seconds or 0.0)

    def forget(self, labels: dict[str, str]) -> None:
        """Remove the series that have these labels among theirs."""
        self._metric.remove_by_labels(labels)
        self._of.clear()


class _Figure:
    """A counter or a histogram by ClusterQueue, and the same by LocalQueue."""

    def __init__(self, row: _Row, registry: CollectorRegistry) -> None:
        labels = (*row.labels, ROLE)
        words = f"{row.words}, by ClusterQueue."
        self.of_queue = _made(row.name, words, ("cluster_queue", *labels), row.buckets, registry)
        self.of_local = None
        if row.is_local:
            name, words = f"local_queue_{row.name}", f"{row.words}, by LocalQueue."
            self.of_local = _made(name, words, ("name", "namespace", *labels), row.local, registry)


def _made(
    name: str, words: str, labels: Collection[str], buckets: Sequence[float], registry: CollectorRegistry
) -> _Metric:
    if not buckets:
        return _Metric(Counter(f"kueue_{name}", words, labels, registry=registry))
    return _Metric(Histogram(f"kueue_{name}", words, labels, registry=registry, buckets=buckets))


class WorkloadMetrics:
    """Updates the metrics; `role` returns the role of this replica, `names` knows queues and cohorts."""

    def __init__(self, registry: CollectorRegistry, role: Callable[[], str], names: QueueNames) -> None:
        self._role, self._names = role, names
        self._figures = {row.name: _Figure(row, registry) for row in _ROWS}
        self._preempted = Counter(
            "kueue_preempted_workloads_total",
            "Workloads preempted, by the ClusterQueue that they are preempted for.",
            ["preempting_cluster_queue", "reason", ROLE],
            registry=registry,
        )
        self._in_cohorts = Counter(
            "kueue_cohort_subtree_admitted_workloads_total",
            "Workloads admitted in a cohort or below it.",
            ["cohort", "priority_class", ROLE],
            registry=registry,
        )
        self._creation = Histogram(
            "kueue_workload_creation_latency_seconds",
            "Time from the creation of a job to that of its Workload.",
            ["job_kind", ROLE],
            registry=registry,
            buckets=CREATION,
        )
        self._ungating = Histogram(
            "kueue_pod_scheduling_gate_removal_seconds",
            "Time from admission until a scheduling gate is removed.",
            ["name", "cluster_queue", "is_group", ROLE],
            registry=registry,
            buckets=SHORT_BUCKETS,
        )

    def admitted(self, workload: Object, decision: Admitted, now: int) -> None:
        """Record that a Workload got quota; `workload` is its state before, `now` in milliseconds since the epoch."""
        queue, ranked = decision.cluster_queue, (_class(workload),)
        self._note("quota_reserved_workloads_total", workload, queue, ranked)
        self._note("quota_reserved_wait_time_seconds", workload, queue, ranked, _since(queued_at(workload), now))
        if decision.admitted:
            self._admit(workload, queue, now)

    def checks_ready(self, workload: Object, decision: Admitted, now: int) -> None:
        """Record that a Workload with quota is admitted; `now` in milliseconds since the epoch."""
        reserved = _became(workload, QUOTA_RESERVED) or queued_at(workload)
        queue, waited = decision.cluster_queue, _since(reserved, now)
        self._note("admission_checks_wait_time_seconds", workload, queue, (_class(workload),), waited)
        self._admit(workload, queue, now)

    def _admit(self, workload: Object, queue: str, now: int) -> None:
        class_ = _class(workload)
        self._note("admitted_workloads_total", workload, queue, (class_,))
        self._note("admission_wait_time_seconds", workload, queue, (class_,), _since(queued_at(workload), now))
        for cohort in self._names.cohorts(queue):
            self._in_cohorts.labels(cohort, class_, self._role()).inc()

    def evicted(self, workload: Object, reason: str, now: int) -> None:
        """Record an eviction; `workload` is its state before, `now` in milliseconds since the epoch."""
        queue, why, class_ = cluster_queue_of(workload), why_evicted(workload, reason), _class(workload)
        self._note("evicted_workloads_total", workload, queue, (*why, class_))
        before = at(workload, ("status", "schedulingStats", "evictions")) or ()
        if why not in {(row.get("reason"), row.get("underlyingCause")) for row in before}:
            self._note("evicted_workloads_once_total", workload, queue, (*why, class_))
        if holds(workload, PODS_READY):
            since = _since(_became(workload, PODS_READY), now)
            self._note("pods_ready_to_evicted_time_seconds", workload, queue, why, since)

    def preempted(self, queue: str, why: PreemptionReason) -> None:
        """Record a preemption for a workload of the ClusterQueue `queue`."""
        self._preempted.labels(queue, why.value, self._role()).inc()

    def released(self, workload: Object, reason: str, seconds: float) -> None:
        """Record that an evicted Workload released its quota after `seconds`; `workload` is its state before."""
        queue, (why, _) = cluster_queue_of(workload), why_evicted(workload, reason)
        self._note("workload_eviction_latency_seconds", workload, queue, (why,), seconds)

    def ready(self, workload: Object, now: int) -> None:
        """Record that the pods of a Workload are ready for the first time since its admission."""
        queue, ranked = cluster_queue_of(workload), (_class(workload),)
        admitted = _became(workload, ADMITTED)
        self._note("ready_wait_time_seconds", workload, queue, ranked, _since(queued_at(workload), now))
        self._note("admitted_until_ready_wait_time_seconds", workload, queue, ranked, _since(admitted, now))

    def finished(self, workload: Object, seconds: float | None) -> None:
        """Record that a Workload has finished; `seconds` is how long it was admitted in total, None if never."""
        queue, ranked = cluster_queue_of(workload), (_class(workload),)
        self._note("finished_workloads_total", workload, queue, ranked)
        if seconds is not None:
            self._note("execution_time_seconds", workload, queue, ranked, seconds)

    def replaced(self, workload: Object) -> None:
        """Record that a Workload was replaced by another."""
        self._note("replaced_workload_slices_total", workload, cluster_queue_of(workload), ())

    def created(self, kind: str, seconds: float) -> None:
        """Record that a Workload was created `seconds` after its job of kind `kind`."""
        self._creation.labels(kind, self._role()).observe(max(0.0, seconds))

    def ungated(self, gate: str, queue: str, seconds: float, *, is_group: bool) -> None:
        """Record that a scheduling gate was removed from a pod `seconds` after its admission."""
        self._ungating.labels(gate, queue, str(is_group).lower(), self._role()).observe(max(0.0, seconds))

    def _note(
        self, name: str, workload: Object, queue: str, labels: Sequence[str], seconds: float | None = None
    ) -> None:
        figure, namespace = self._figures[name], key_of(workload)[0]
        local, rest = str(at(workload, ("spec", "queueName")) or ""), (*labels, self._role())
        figure.of_queue.add((queue, *rest), seconds)
        if figure.of_local is not None and self._names.shows(local, namespace):
            figure.of_local.add((local, namespace, *rest), seconds)

    def forget_queue(self, name: str) -> None:
        """Remove the series of a deleted ClusterQueue: a new one of the same name starts at zero."""
        for figure in self._figures.values():
            figure.of_queue.forget({"cluster_queue": name})
        self._preempted.remove_by_labels({"preempting_cluster_queue": name})
        self._ungating.remove_by_labels({"cluster_queue": name})

    def forget_local(self, name: str) -> None:
        """Remove the series of a LocalQueue, `namespace/name`."""
        namespace, _, local = name.partition("/")
        for figure in self._figures.values():
            if figure.of_local is not None:
                figure.of_local.forget({"name": local, "namespace": namespace})

    def forget_cohort(self, name: str) -> None:
        """Remove the series of a cohort."""
        self._in_cohorts.remove_by_labels({"cohort": name})


def _since(then: int, now: int) -> float:
    """Return the seconds between two times in milliseconds; 0 if the first is unknown."""
    return max(0.0, (now - then) / 1000) if then else 0.0


def _became(workload: Object, condition: str) -> int:
    """Return the last transition of a condition in milliseconds since the epoch; 0 if it does not exist."""
    return milliseconds((find(workload, condition) or {}).get("lastTransitionTime"))


def _class(workload: Object) -> str:
    return str(at(workload, ("spec", "priorityClassRef", "name")) or "")
