"""Figures of the queues: under Kueue's own names where the fact is the same, so that its dashboards go on working.

Counters grow as decisions are written; gauges are set from the state after a round. Labels as in Kueue 0.20.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from webhook.cluster.queues.gauges import QueueGauges
from webhook.cluster.queues.status import QueueCounts
from webhook.cluster.queues.workload_conditions import split
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
        queue = ["cluster_queue", ROLE]
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
        self._wait = Histogram(
            "kueue_admission_wait_time_seconds", "Time from creation to admission.", ranked, registry=registry,
            buckets=BUCKETS,
        )  # fmt: skip
        self._evicted = _evictions("kueue_evicted_workloads_total", "Workloads evicted.", registry)
        first = "Workloads evicted for a reason for the first time."
        self._evicted_once = _evictions("kueue_evicted_workloads_once_total", first, registry)
        self._preempted = Counter(
            "kueue_preempted_workloads_total",
            "Workloads preempted.",
            ["preempting_cluster_queue", "reason", ROLE],
            registry=registry,
        )
        self._pending = Gauge(
            "kueue_pending_workloads", "Pending workloads.", ["cluster_queue", "status", ROLE], registry=registry
        )
        self._reserving = Gauge(
            "kueue_reserving_active_workloads", "Workloads with reserved quota.", queue, registry=registry
        )
        self._active = Gauge("kueue_admitted_active_workloads", "Admitted workloads.", queue, registry=registry)
        self._status = Gauge(
            "kueue_cluster_queue_status", "1 for the current status.", ["cluster_queue", "status", ROLE],
            registry=registry,
        )  # fmt: skip
        self._usage = Gauge(
            "kueue_cluster_queue_resource_reservation",
            "Quota reserved.",
            ["cohort", "cluster_queue", "flavor", "resource", ROLE],
            registry=registry,
        )
        self._queues = QueueGauges(registry)
        self._writes = Gauge("sluice_controller_writes", "Writes sent to the API server.", registry=registry)
        self._leads = Gauge("sluice_leader", "1 while this replica is the leader.", registry=registry)

    def leads(self, yes: bool) -> None:
        """Note whether this replica leads."""
        self._leads.set(int(yes))
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
        """Note an admission; the wait is counted from the Workload's creation."""
        labels = (decision.cluster_queue, _class(workload), self._role)
        self._reserved.labels(*labels).inc()
        if decision.admitted:
            self.checks_ready(workload, decision, now)

    def checks_ready(self, workload: Object, decision: Admitted, now: int) -> None:
        """Note that one is admitted that had its quota before."""
        labels = (decision.cluster_queue, _class(workload), self._role)
        self._admitted.labels(*labels).inc()
        created = datetime.fromisoformat(workload["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
        self._wait.labels(*labels).observe(max(0.0, now / 1000 - created.timestamp()))

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
        """Set the gauges from the state of the queues."""
        self._writes.set(writes)
        self._queues.set(counts.cluster_queues.values(), counts.local_queues.values(), self._role)
        for tally in counts.cluster_queues.values():
            name = tally.name
            self._pending.labels(name, "active", self._role).set(tally.pending - tally.inadmissible)
            self._pending.labels(name, "inadmissible", self._role).set(tally.inadmissible)
            self._reserving.labels(name, self._role).set(tally.reserving)
            self._active.labels(name, self._role).set(tally.admitted)
            for status in ("pending", "active", "terminating"):
                self._status.labels(name, status, self._role).set(int(tally.activity.status == status))
            for (flavor, resource), amount in tally.reserved.items():
                value = amount / 1000 if resource == "cpu" else amount
                self._usage.labels(tally.cohort, name, flavor, resource, self._role).set(value)


def _evictions(name: str, words: str, registry: CollectorRegistry) -> Counter:
    return Counter(
        name, words, ["cluster_queue", "reason", "underlying_cause", "priority_class", ROLE], registry=registry
    )


def _class(workload: Object) -> str:
    return str(((workload.get("spec") or {}).get("priorityClassRef") or {}).get("name") or "")
