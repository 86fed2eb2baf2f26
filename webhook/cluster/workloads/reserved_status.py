"""The status of a Workload that has quota and is not admitted yet: its checks, and what it waits for. Pure.

The queue core admits it when its checks are ready; without its ClusterQueue, this does.
"""

from __future__ import annotations

from typing import Any

from webhook.api.stop_policy import is_stopped
from webhook.cluster.workloads import admission_checks
from webhook.cluster.workloads.conditions import ready, unready, without_quota
from webhook.cluster.workloads.pending_status import Around
from webhook.kube.fields import at
from webhook.store.objects import Object


def status_of(workload: Object, around: Around, now: str) -> dict[str, Any]:
    """Return the new status; `around` has the ClusterQueue of the admission."""
    admission = at(workload, ("status", "admission")) or {}
    states = admission_checks.states_of(workload)
    names = [str(row.get("name")) for row in states]
    if around.target is not None:
        names = admission_checks.asked(around.target, admission)
        states = admission_checks.synced(states, names, now)
        workload = {**workload, "status": {**workload["status"], "admissionChecks": list(states)}}
    answers = {row.get("state") for row in states}
    if answers <= {"Ready"}:
        return ready(workload, now) if around.target is None else dict(workload["status"])
    if answers <= {"Ready", "Pending"} and (why := _lost(workload, around)) is not None:
        return without_quota(workload, *why, now)
    return unready(workload, now)


def _lost(workload: Object, around: Around) -> tuple[str, str] | None:
    """Return reason and message if quota is to be released, as a queue was stopped or deleted; else None."""
    name = at(workload, ("spec", "queueName")) or ""
    for kind, called, queue in (
        ("LocalQueue", name, around.local),
        ("ClusterQueue", around.target_name, around.target),
    ):
        if queue is None or at(queue, ("metadata", "deletionTimestamp")):
            return "Misconfigured", f"{kind} {called} is terminating or missing"
        if is_stopped(queue):
            return "Suspended", f"{kind} {called} is stopped"
    return None
