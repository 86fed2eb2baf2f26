"""What must happen to work that holds quota without any contest: checks that came ready, queues that are drained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.queue.decisions import Admitted, Evicted
from webhook.queue.model import CheckState, ClusterQueue, PodSetAssignment, StopPolicy, Workload
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.state import State

OVERTIME: Final = "DeactivatedDueToMaximumExecutionTimeExceeded"
"""The reason of an eviction after `maximumExecutionTimeSeconds`: who carries it out deactivates the workload too."""


def checks_ready(workload: Workload, queue: ClusterQueue, pod_sets: Iterable[PodSetAssignment]) -> bool:
    """Say whether all checks that a queue asks for on these flavors are ready (second phase of admission)."""
    if not queue.checks:
        return True
    flavors = {flavor for pod_set in pod_sets for flavor in pod_set.flavors.values()}
    asked = [use.name for use in queue.checks if not use.flavors or not flavors.isdisjoint(use.flavors)]
    return all(workload.checks.get(name) == CheckState.READY for name in asked)


def settle(state: State, ready: list[Admitted], evicted: list[Evicted]) -> None:
    """Admit whose checks came ready; evict who must go: not active, out of time, a check failed, a queue is drained."""
    due, state.due = state.due, {}
    for key in due:
        entry = state.entries.get(key)
        if entry is None or entry.status != Status.HOLDING or entry.admission is None or entry.victim is None:
            continue
        reason = "" if entry.victim.evicted else _must_go(state, entry)
        if reason:
            entry.victim.evicted = True
            evicted.append(Evicted(key, entry.admission.cluster_queue, reason))
        elif not entry.admitted and not entry.victim.evicted:
            queue = state.cluster_queues[entry.admission.cluster_queue]
            if checks_ready(entry.workload, queue, entry.admission.pod_sets):
                entry.admitted = True
                ready.append(Admitted(key, queue.name, entry.admission.pod_sets))


def _must_go(state: State, entry: Entry) -> str:
    workload, admission = entry.workload, entry.admission
    assert admission is not None
    if not workload.active:
        return "Deactivated"
    if workload.deadline and workload.deadline <= state.changes.now:
        return OVERTIME
    if any(c in (CheckState.RETRY, CheckState.REJECTED) for c in workload.checks.values()):
        return "AdmissionCheck"
    if state.cluster_queues[admission.cluster_queue].stop_policy == StopPolicy.DRAIN:
        return "ClusterQueueStopped"
    local = state.local_queues.get(f"{workload.namespace}/{workload.queue}")
    if local is not None and local.stop_policy == StopPolicy.DRAIN:
        return "LocalQueueStopped"
    return ""
