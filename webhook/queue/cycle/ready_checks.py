"""Admission of workloads that already hold quota, when their checks become ready: the second phase of admission."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.queue.cycle.round import Log
from webhook.queue.decisions import Admitted
from webhook.queue.model import CheckState, ClusterQueue, PodSetAssignment, Workload
from webhook.queue.pending.queue import Status
from webhook.queue.state import State


def checks_ready(workload: Workload, queue: ClusterQueue, pod_sets: Iterable[PodSetAssignment]) -> bool:
    """Return whether all checks that a queue asks for on these flavors are ready."""
    strategy = queue.admission_checks_strategy
    if not strategy.admission_checks:
        return True
    flavors = {flavor for pod_set in pod_sets for flavor in pod_set.flavors.values()}
    return all(workload.checks.get(name) == CheckState.READY for name in strategy.asked(flavors))


def admit_ready(state: State, due: Iterable[str], log: Log) -> None:
    """Admit those of the workloads with the keys `due` that hold quota and whose checks are ready."""
    for key in due:
        entry = state.entries.get(key)
        if entry is None or entry.status != Status.HOLDING or entry.admission is None or entry.victim is None:
            continue
        if entry.admitted or entry.victim.evicted:
            continue
        queue, pod_sets = state.cluster_queues[entry.admission.cluster_queue], entry.admission.pod_set_assignments
        if checks_ready(entry.workload, queue, pod_sets):
            entry.admitted = True
            log.ready.append(Admitted(key, queue.name, pod_sets))
