"""The status of a Workload after each of its transitions. Pure: the new status comes out, whole.

The wire form is kueue.x-k8s.io/v1beta2; the words of reasons are Kueue's, so that what reads them goes on working.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.cluster.conditions import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Conditions,
    conditions_of,
    holds,
    with_condition,
)
from webhook.cluster.lifecycle import Finish
from webhook.queue.decisions import Admitted
from webhook.queue.model import PodSetAssignment
from webhook.store.objects import Object

Amount = Callable[[str, int], str]
"""Resource name and the core's int -> a Kubernetes quantity."""


def admitted(workload: Object, decision: Admitted, amount: Amount, now: str) -> Object:
    """Give the status of a Workload that got its quota; and is admitted, where no check is open."""
    queue = decision.cluster_queue
    generation = _generation(workload)
    rows = with_condition(
        conditions_of(workload),
        QUOTA_RESERVED,
        True,
        "QuotaReserved",
        f"Quota reserved in ClusterQueue {queue}",
        now,
        generation,
    )
    if decision.admitted:
        rows = with_condition(
            rows, ADMITTED, True, "Admitted", f"The workload is admitted by ClusterQueue {queue}", now, generation
        )
    for type_ in (EVICTED, PREEMPTED):
        if holds(workload, type_):
            rows = with_condition(rows, type_, False, "QuotaReserved", "the workload has quota again", now, generation)
    assignments = [_assignment(pods, amount) for pods in decision.pod_sets]
    admission = {"clusterQueue": queue, "podSetAssignments": assignments}
    return {**_status(workload), "conditions": rows, "admission": admission}


def evicted(workload: Object, reason: str, message: str, now: str, preemption: str = "") -> Object:
    """Give the status of a Workload that must stop; it holds its quota until its pods are gone.

    `preemption` is the reason of the condition `Preempted`, where another workload took its place.
    """
    generation = _generation(workload)
    rows = with_condition(conditions_of(workload), EVICTED, True, reason, message, now, generation)
    if preemption:
        rows = with_condition(rows, PREEMPTED, True, preemption, message, now, generation)
    return {**_status(workload), "conditions": rows}


def released(workload: Object, now: str) -> Object:
    """Give the status of a Workload whose pods are gone: no quota, waiting again."""
    generation = _generation(workload)
    message = "the pods of the job are gone; the workload waits again"
    rows = conditions_of(workload)
    for type_ in (QUOTA_RESERVED, ADMITTED):
        if type_ == QUOTA_RESERVED or holds(workload, type_):
            rows = with_condition(rows, type_, False, "Pending", message, now, generation)
    rows = with_condition(rows, REQUEUED, True, "QuotaReleased", message, now, generation)
    status = {**_status(workload), "conditions": rows}
    status["admission"] = None
    return status


def pending(workload: Object, reason: str, message: str, now: str) -> Object:
    """Give the status of a Workload that waits, with why."""
    rows = with_condition(conditions_of(workload), QUOTA_RESERVED, False, reason, message, now, _generation(workload))
    return {**_status(workload), "conditions": rows}


def finished(workload: Object, finish: Finish, now: str) -> Object:
    """Give the status of a Workload whose job has ended; its admission stays for the record."""
    rows: Conditions = with_condition(
        conditions_of(workload), FINISHED, True, finish.reason, finish.message, now, _generation(workload)
    )
    return {**_status(workload), "conditions": rows}


def _assignment(pods: PodSetAssignment, amount: Amount) -> dict[str, Any]:
    return {
        "name": pods.name,
        "flavors": dict(pods.flavors),
        "resourceUsage": {name: amount(name, value) for name, value in pods.usage.items()},
        "count": pods.count,
    }


def _status(workload: Object) -> dict[str, Any]:
    return dict(workload.get("status") or {})


def _generation(workload: Object) -> int:
    return int((workload.get("metadata") or {}).get("generation") or 0)
