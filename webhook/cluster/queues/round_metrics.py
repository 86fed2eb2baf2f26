"""Metrics of the queues, under Kueue's names if the meaning is the same, so that its dashboards work.

Rounds are counted here, Workloads in `workload_metrics.py`; gauges are computed from the latest counts, in
`queue_gauges.py`. Labels as in Kueue 0.20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from webhook.cluster.queues.names import QueueNames
from webhook.cluster.queues.queue_gauges import QueueGauges
from webhook.cluster.queues.status import QueueCounts
from webhook.cluster.queues.workload_metrics import ROLE, SHORT_BUCKETS, WorkloadMetrics
from webhook.kube.gvk import GroupVersionKind
from webhook.queue.decisions import Decisions
from webhook.store.objects import Object, key_of


class QueueMetrics:
    """The metrics of one replica. `role` is leader, follower or standalone; `names` knows queues and cohorts.

    `traced` is also called with each round and its duration in milliseconds, including writes, if tracing is on.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        role: str = "standalone",
        names: QueueNames | None = None,
        traced: Callable[[Decisions, int], None] | None = None,
    ) -> None:
        self._role, self._names, self._traced = role, names or QueueNames(), traced
        self.workloads = WorkloadMetrics(registry, lambda: self._role, self._names)
        self._attempts = Counter(
            "kueue_admission_attempts_total", "Scheduling rounds.", ["result", ROLE], registry=registry
        )
        self._attempt_time = Histogram(
            "kueue_admission_attempt_duration_seconds",
            "Time that a round takes to decide.",
            ["result", ROLE],
            registry=registry,
            buckets=SHORT_BUCKETS,
        )
        self._write_time = Histogram(
            "sluice_round_write_seconds",
            "Time until the last write of a round has begun.",
            [ROLE],
            registry=registry,
            buckets=SHORT_BUCKETS,
        )
        self._known: tuple[set[str], set[str], set[str]] = (set(), set(), set())
        self._queues = QueueGauges(registry)
        self._leads = Gauge("sluice_leader", "1 while this replica is the leader.", registry=registry)

    def leads(self, yes: bool) -> None:
        """Record whether this replica leads."""
        self._leads.set(int(yes))
        if not yes:
            self._queues.clear()
        if self._role != "standalone":
            self._role = "leader" if yes else "follower"

    def record_round(self, decisions: Decisions, deciding: float, writing: float) -> None:
        """Record a round, and the seconds that it took to decide and to write."""
        result = "success" if decisions.admitted else "inadmissible"
        self._attempts.labels(result, self._role).inc()
        self._attempt_time.labels(result, self._role).observe(deciding)
        self._write_time.labels(self._role).observe(writing)
        if self._traced is not None:
            self._traced(decisions, round(1000 * (deciding + writing)))

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Remove the series of a queue that is deleted, whoever leads: a replica that led before still has them."""
        if old is None or new is not None:
            return
        if gvk == CLUSTER_QUEUE:
            self.workloads.forget_queue(key_of(old)[1])
        elif gvk == LOCAL_QUEUE:
            self.workloads.forget_local("/".join(key_of(old)))

    def update(self, counts: QueueCounts) -> None:
        """Update the gauges from the counts; series of queues that are not shown any more are removed."""
        shown = {
            key: count
            for key, count in counts.local_queues.items()
            if self._names.shows(key.partition("/")[2], key.partition("/")[0])
        }
        self._queues.show(replace(counts, local_queues=shown), self._role)
        now = set(counts.cluster_queues), set(shown), set(counts.facts.cohorts)
        forget = self.workloads.forget_queue, self.workloads.forget_local, self.workloads.forget_cohort
        for before, after, gone in zip(self._known, now, forget, strict=True):
            for name in before - after:
                gone(name)
        self._known = now
