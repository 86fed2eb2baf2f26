"""Derives metrics from changes of Workloads and Pods: finished, ready, quota released.

Only while this replica leads, whoever made the change. Workloads that finished earlier are not counted again by the
next leader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cluster.api.kinds import MANAGED, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.jobs.pods_ready_condition import STARTED
from webhook.cluster.jobs.start_stop import TOPOLOGY_GATE
from webhook.cluster.queues.workload_metrics import WorkloadMetrics
from webhook.cluster.workloads.conditions import PAST_EXECUTION_SECONDS, REPLACED, cluster_queue_of, run_time
from webhook.jobs.elastic import ELASTIC, SLICE, annotation
from webhook.jobs.kinds import KINDS
from webhook.jobs.owners import controller_of
from webhook.jobs.pod_groups import group_of
from webhook.kube.condition_types import ADMITTED, EVICTED, FINISHED, PODS_READY, QUOTA_RESERVED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.kube.gvk import POD, GroupVersionKind
from webhook.kube.times import milliseconds
from webhook.store.objects import Object, key_of, uid_of

_GATES: Final = frozenset({TOPOLOGY_GATE, ELASTIC, *(row.gate for row in KINDS if row.gate)})


class Transitions:
    """Updates the metrics; `clock_ms` returns milliseconds since the epoch."""

    def __init__(self, view: View, metrics: WorkloadMetrics, clock_ms: Callable[[], int]) -> None:
        self._view, self._metrics, self._clock_ms = view, metrics, clock_ms

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Record a change in the view."""
        if new is None:
            return
        if gvk == POD and old is not None:
            self._pod(old, new)
        elif (gvk.group, gvk.kind) == (WORKLOAD.group, WORKLOAD.kind):
            if old is None:
                self._created(new)
            else:
                self._workload(old, new)

    def _created(self, workload: Object) -> None:
        """Record the time from a job to its Workload, unless the job was edited: the edit may have caused it."""
        reference = controller_of(workload)
        job = self._view.by_uid(str((reference or {}).get("uid")), MANAGED) if reference is not None else None
        if job is not None and at(job, ("metadata", "generation")) in (None, 0, 1):
            created, made = (milliseconds(at(obj, ("metadata", "creationTimestamp"))) for obj in (job, workload))
            self._metrics.created(job["kind"], (made - created) / 1000)

    def _workload(self, old: Object, new: Object) -> None:
        now = self._clock_ms()
        if holds(new, FINISHED) and not holds(old, FINISHED):
            self._metrics.finished(new, ran_for(new))
            if (find(new, FINISHED) or {}).get("reason") == REPLACED:
                self._metrics.replaced(new)
        if holds(old, QUOTA_RESERVED) and not holds(new, QUOTA_RESERVED) and holds(new, EVICTED):
            why = find(new, EVICTED) or {}
            self._metrics.released(old, str(why.get("reason")), max(0.0, (now - _at(why)) / 1000))
        ready = find(new, PODS_READY) or {}
        if holds(new, PODS_READY) and not holds(old, PODS_READY) and ready.get("reason") == STARTED:
            self._metrics.ready(new, now)

    def _pod(self, old: Object, new: Object) -> None:
        gone = sorted(_gates(old) - _gates(new))
        workload = self._workload_of(new) if gone else None
        if workload is None or not holds(workload, ADMITTED):
            return
        seconds = (self._clock_ms() - _at(find(workload, ADMITTED) or {})) / 1000
        for name in gone:
            self._metrics.ungated(name, cluster_queue_of(workload), seconds, is_group=bool(group_of(new)))

    def _workload_of(self, pod: Object) -> Object | None:
        informer, namespace = self._view.informer(WORKLOAD), key_of(pod)[0]
        if group := group_of(pod):
            return informer.get(group, namespace)
        workloads = informer.of(namespace, (SLICE, chain) if (chain := annotation(pod, SLICE)) else uid_of(pod))
        return next((workload for workload in workloads if holds(workload, ADMITTED)), None)


def ran_for(workload: Object) -> float | None:
    """Return the seconds of the last run of a finished Workload, with those that count for its maximum execution time.

    None if it is not known. As in Kueue, earlier runs count only where a maximum is set.
    """
    run = run_time(workload)
    return None if run is None else float(at(workload, ("status", PAST_EXECUTION_SECONDS)) or 0) + run / 1000


def _at(condition: Object) -> int:
    return milliseconds(condition.get("lastTransitionTime"))


def _gates(pod: Object) -> frozenset[str]:
    """Return the gates of a pod that belong to the queues. User-defined gates would each create a series."""
    return _GATES & {gate.get("name") for gate in at(pod, ("spec", "schedulingGates")) or ()}
