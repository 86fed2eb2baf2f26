"""Figures of the queues: under Kueue's own names where the fact is the same, so that its dashboards go on working.

Counters grow as decisions are written; gauges are set from the state after a round. Labels as in Kueue 0.20.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from webhook.api.snapshot.quota import milliseconds
from webhook.cluster.queues.gauges import QueueGauges
from webhook.cluster.queues.status import QueueCounts
from webhook.cluster.workloads.conditions import QUOTA_RESERVED, REQUEUED, split
from webhook.kube.conditions import find
from webhook.queue.decisions import Admitted, Decisions, Preempted
from webhook.store.objects import Object

BUCKETS: Final = (1.0, *(2.5 * 2**n for n in range(13)))
"""Seconds, up to 10,240: Kueue's."""
ROLE: Final = "replica_role"


class QueueMetrics:
    """The metrics of one replica. `role` is leader, follower or standalone."""

    def __init__(self, registry: CollectorRegistry, role: str = "standalone") -> None:
        self._role = role
        self.traced: Callable[[Decisions, int], None] | None = None
        """Told of each round too, where rounds are traced."""
        ranked = ["cluster_queue", "priority_class", ROLE]
        self._attempts = Counter(
            "kueue_admission_attempts_total", "Scheduling rounds.", ["result", ROLE], registry=registry
        )
        self._attempt_time = Histogram(
            "kueue_admission_attempt_duration_seconds", "Duration of a round.", ["result", ROLE], registry=registry
        )
        self._reserved = Counter(
            "kueue_quota_reserved_workloads_total", "Workloads with a new quota reservation.", ranked, registry=registry
        )
        self._admitted = Counter("kueue_admitted_workloads_total", "Workloads admitted.", ranked, registry=registry)
        self._reserved_wait = _waits("quota_reserved", "Time from creation or requeueing to quota.", registry)
        self._wait = _waits("admission", "Time from creation or requeueing to admission.", registry)
        self._checks_wait = _waits("admission_checks", "Time from quota to admission.", registry)
        self._evicted = _evictions("kueue_evicted_workloads_total", "Workloads evicted.", registry)
        first = "Workloads evicted for a reason for the first time."
        self._evicted_once = _evictions("kueue_evicted_workloads_once_total", first, registry)
        self._preempted = Counter(
            "kueue_preempted_workloads_total",
            "Workloads preempted.",
            ["preempting_cluster_queue", "reason", ROLE],
            registry=registry,
        )
        self._known: set[str] = set()
        self._written = 0
        self._queues = QueueGauges(registry)
        self._writes = Counter("sluice_writes_total", "Writes sent to the API server.", registry=registry)
        self._leads = Gauge("sluice_leader", "1 while this replica is the leader.", registry=registry)

    def leads(self, yes: bool) -> None:
        """Note whether this replica leads."""
        self._leads.set(int(yes))
        if not yes:
            self._queues.clear()
        if self._role != "standalone":
            self._role = "leader" if yes else "follower"

    def cycle(self, decisions: Decisions, milliseconds: int) -> None:
        """Note a round."""
        result = "success" if decisions.admitted else "inadmissible"
        self._attempts.labels(result, self._role).inc()
        self._attempt_time.labels(result, self._role).observe(milliseconds / 1000)
        if self.traced is not None:
            self.traced(decisions, milliseconds)

    def admitted(self, workload: Object, decision: Admitted, now: int) -> None:
        """Note that one got its quota; `workload` is as it was before, `now` in milliseconds."""
        labels = (decision.cluster_queue, _class(workload), self._role)
        self._reserved.labels(*labels).inc()
        self._reserved_wait.labels(*labels).observe(_since(_queued(workload), now))
        if decision.admitted:
            self._admit(workload, decision, now)

    def checks_ready(self, workload: Object, decision: Admitted, now: int) -> None:
        """Note that one is admitted that had its quota before."""
        labels = (decision.cluster_queue, _class(workload), self._role)
        reserved = (find(workload, QUOTA_RESERVED) or {}).get("lastTransitionTime") or _queued(workload)
        self._checks_wait.labels(*labels).observe(_since(reserved, now))
        self._admit(workload, decision, now)

    def _admit(self, workload: Object, decision: Admitted, now: int) -> None:
        labels = (decision.cluster_queue, _class(workload), self._role)
        self._admitted.labels(*labels).inc()
        self._wait.labels(*labels).observe(_since(_queued(workload), now))

    def evicted(self, workload: Object, reason: str) -> None:
        """Note an eviction."""
        status = workload.get("status") or {}
        queue, why = (status.get("admission") or {}).get("clusterQueue") or "", split(reason)
        self._evicted.labels(queue, *why, _class(workload), self._role).inc()
        before = (status.get("schedulingStats") or {}).get("evictions") or ()
        if why not in {(row.get("reason"), row.get("underlyingCause")) for row in before}:
            self._evicted_once.labels(queue, *why, _class(workload), self._role).inc()

    def preempted(self, decision: Preempted) -> None:
        """Note a preemption."""
        self._preempted.labels(decision.cluster_queue, decision.reason.value, self._role).inc()

    def tallies(self, counts: QueueCounts, writes: int) -> None:
        """Set the gauges from the state of the queues; `writes` is how many were sent in all."""
        self._writes.inc(writes - self._written)
        self._written = writes
        self._queues.show(counts, self._role)
        for name in self._known - counts.cluster_queues.keys():
            self._forget(name)
        self._known = set(counts.cluster_queues)

    def _forget(self, queue: str) -> None:
        """Take away the series of a ClusterQueue that is gone: one of the same name begins at zero."""
        of_cluster_queue = (
            *(self._reserved, self._reserved_wait, self._admitted, self._wait, self._checks_wait),
            *(self._evicted, self._evicted_once),
        )
        for metric in of_cluster_queue:
            metric.remove_by_labels({"cluster_queue": queue})
        self._preempted.remove_by_labels({"preempting_cluster_queue": queue})


def _evictions(name: str, words: str, registry: CollectorRegistry) -> Counter:
    return Counter(
        name, words, ["cluster_queue", "reason", "underlying_cause", "priority_class", ROLE], registry=registry
    )


def _waits(what: str, words: str, registry: CollectorRegistry) -> Histogram:
    name = f"kueue_{what}_wait_time_seconds"
    return Histogram(name, words, ["cluster_queue", "priority_class", ROLE], registry=registry, buckets=BUCKETS)


def _queued(workload: Object) -> str:
    """Give the time since which a Workload waits: that of its creation, or of its last return to the queue."""
    requeued = find(workload, REQUEUED) or {}
    since = requeued.get("lastTransitionTime") if requeued.get("status") == "True" else None
    return str(since or workload["metadata"]["creationTimestamp"])


def _since(stamp: str, now: int) -> float:
    return max(0.0, (now - milliseconds(stamp)) / 1000)


def _class(workload: Object) -> str:
    return str(((workload.get("spec") or {}).get("priorityClassRef") or {}).get("name") or "")
