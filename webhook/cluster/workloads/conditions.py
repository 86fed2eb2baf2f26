"""The status of a Workload after each transition, above all its conditions. Pure: returns the whole new status.

The API version is kueue.x-k8s.io/v1beta2; reasons are Kueue's, so that its clients work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.cluster.workloads import admission_checks
from webhook.jobs.finish import Finish
from webhook.kube.condition_types import (
    ADMITTED,
    CLUSTER_QUEUE_STOPPED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    LOCAL_QUEUE_STOPPED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    WAIT_FOR_RECOVERY,
    WAIT_FOR_START,
)
from webhook.kube.conditions import Conditions, conditions_of, find, holds, with_condition
from webhook.kube.fields import at
from webhook.kube.times import milliseconds
from webhook.queue.decisions import Admitted
from webhook.queue.model import BY_ADMISSION_CHECK, BY_PODS_READY_TIMEOUT, PodSetAssignment
from webhook.store.objects import Object

REPLACED: Final = "WorkloadSliceReplaced"
"""The reason of `Finished` of a Workload that was replaced by another."""
DEACTIVATES: Final = f"{DEACTIVATED}DueTo"
"""Prefix of the reason of an eviction that also deactivates the workload; its cause follows."""
OVERTIME: Final = f"{DEACTIVATES}MaximumExecutionTimeExceeded"
REQUEUES: Final = {
    BY_ADMISSION_CHECK: ("BackoffFinished", "The workload backoff was finished"),
    BY_PODS_READY_TIMEOUT: ("BackoffFinished", "The workload backoff was finished"),
    DEACTIVATED: ("Reactivated", "The workload was reactivated"),
    CLUSTER_QUEUE_STOPPED: ("ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"),
    LOCAL_QUEUE_STOPPED: ("LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
}
"""Evictions that block requeueing until they are undone: reason -> reason and message of `Requeued` then."""
EVICTIONS: Final = {
    DEACTIVATED: "The workload is deactivated",
    CLUSTER_QUEUE_STOPPED: "The ClusterQueue is stopped",
    LOCAL_QUEUE_STOPPED: "The LocalQueue is stopped",
    BY_PODS_READY_TIMEOUT: "Exceeded the PodsReady timeout",
}
"""Evictions with a message of Kueue's."""
NO_RESERVATION: Final = ("NoReservation", "The workload has no reservation")
UNCHECKED: Final = ("UnsatisfiedAdmissionChecks", "The workload has not all checks ready")
EVALUATION: Final = "PendingEvaluation"
NO_HOLD: Final = "Workload no longer on hold; waiting for quota reservation"
WAITING: Final = "sluice.dev/Waiting"
"""A condition of Sluice's own, set while a workload waits: details that Kueue's conditions do not have."""
PAST_EXECUTION_SECONDS: Final = "accumulatedPastExecutionTimeSeconds"
Amount = Callable[[str, int], str]
"""Resource name and the core's integer -> a Kubernetes quantity."""


def cluster_queue_of(workload: Object) -> str:
    """Return the ClusterQueue that a Workload has quota of, or had when it finished; "" if none."""
    return str(at(workload, ("status", "admission", "clusterQueue")) or "")


def admitted(workload: Object, decision: Admitted, target: Object | None, amount: Amount, now: str) -> Object:
    """Return the status of a Workload that got quota, and is admitted unless a check is pending.

    `target` is the ClusterQueue: the checks that it requires for the assigned flavors get their entries.
    """
    queue = decision.cluster_queue
    generation = _generation(workload)
    rows = [row for row in conditions_of(workload) if row.get("type") != WAITING]
    message = f"Quota reserved in ClusterQueue {queue}"
    rows = with_condition(rows, QUOTA_RESERVED, True, QUOTA_RESERVED, message, now, generation)
    rows = _admitted(rows, now, generation) if decision.admitted else _unchecked(rows, now, generation)
    for type_ in (EVICTED, PREEMPTED):
        if holds(workload, type_):
            before = f"Previously: {(find(workload, type_) or {}).get('message') or ''}"
            rows = with_condition(rows, type_, False, QUOTA_RESERVED, before, now, generation)
    held = find(workload, REQUEUED) or {}
    if held.get("status") == "False":
        again = undone(held) or (QUOTA_RESERVED, message)
        rows = with_condition(rows, REQUEUED, True, *again, now, generation)
    assignments = [_assignment(pods, amount) for pods in decision.pod_sets]
    admission = {"clusterQueue": queue, "podSetAssignments": assignments}
    checks = with_checks(workload, target, admission, now)
    state = {"requeueState": {"requeueAt": None}} if at(workload, ("status", "requeueState", "requeueAt")) else {}
    asked = {"resourceRequests": None} if at(workload, ("status", "resourceRequests")) else {}
    return {**_status(workload), "conditions": rows, "admission": admission, **checks, **state, **asked}


def checked(workload: Object, target: Object, now: str) -> dict[str, Any]:
    """Return the status of an admitted Workload whose ClusterQueue may require other checks than at its admission.

    As in Kueue (`reconcileSyncAdmissionChecks`), it stays admitted: a new check is Pending, and may evict it later.
    """
    return {**_status(workload), **with_checks(workload, target, at(workload, ("status", "admission")) or {}, now)}


def with_checks(workload: Object, target: Object | None, admission: Object, now: str) -> dict[str, Any]:
    """Return the entries of the checks that a ClusterQueue requires, as a part of a status; empty if unchanged."""
    old = admission_checks.states_of(workload)
    new = admission_checks.synced(old, admission_checks.asked(target, admission), now)
    return {"admissionChecks": new} if new != sorted(old, key=lambda row: str(row.get("name"))) else {}


def undone(held: Object) -> tuple[str, str] | None:
    """Return the reason and message of `Requeued` once an eviction is undone; None if that has none of its own.

    `held` is the condition `Requeued`, whose reason is that of the eviction.
    """
    return next((new for old, new in REQUEUES.items() if str(held.get("reason")).startswith(old)), None)


def ready(workload: Object, now: str) -> Object:
    """Return the status of a Workload with quota whose checks have all become ready."""
    return {**_status(workload), "conditions": _admitted(conditions_of(workload), now, _generation(workload))}


def unready(workload: Object, now: str) -> Object:
    """Return the status of a Workload with quota whose checks are pending."""
    return {**_status(workload), "conditions": _unchecked(conditions_of(workload), now, _generation(workload))}


def _admitted(rows: Conditions, now: str, generation: int) -> Conditions:
    return with_condition(rows, ADMITTED, True, ADMITTED, "The workload is admitted", now, generation)


def _unchecked(rows: Conditions, now: str, generation: int) -> Conditions:
    return with_condition(rows, ADMITTED, False, *UNCHECKED, now, generation)


def evicted(workload: Object, reason: str, message: str, now: str, preemption: str = "", requeue_at: int = 0) -> Object:
    """Return the status of a Workload that must stop; it keeps its quota until its pods are gone.

    Its checks are reset; it is not requeued before the time that checks in the state Retry allow. `preemption` is the
    reason of the condition `Preempted`, if it was preempted. `requeue_at` (milliseconds since the epoch) is when it is
    requeued after its pods were not ready in time; this increases `requeueState.count`.
    """
    generation, states = _generation(workload), admission_checks.states_of(workload)
    rows = [row for row in conditions_of(workload) if row.get("type") != DEACTIVATION_TARGET]
    rows = with_condition(rows, EVICTED, True, reason, message, now, generation)
    if preemption:
        rows = with_condition(rows, PREEMPTED, True, preemption, message, now, generation)
    status = {**_status(workload), "conditions": rows, **counted(workload, reason)}
    if states:
        status["admissionChecks"] = admission_checks.reset(states, now)
    state = status.get("requeueState") or {}
    if reason.startswith(DEACTIVATED):
        return {**status, "requeueState": None} if state else status
    if requeue_at:
        state = {"count": int(state.get("count") or 0) + 1, "requeueAt": admission_checks.stamp(requeue_at)}
        return {**status, "requeueState": state}
    again = max(admission_checks.retry_at(states), str(state.get("requeueAt") or ""))
    return {**status, "requeueState": {**state, "requeueAt": again}} if again else status


def why_evicted(workload: Object, reason: str) -> tuple[str, str]:
    """Return reason and underlying cause, "" if none, of an eviction; `workload` is its state before.

    As in Kueue (`admittedNotReadyWorkload`), the cause of a time-out is what the pods were waited for to do; the
    condition `Evicted` has causes of deactivations alone.
    """
    if reason == BY_PODS_READY_TIMEOUT:
        recovers = (find(workload, PODS_READY) or {}).get("reason") == WAIT_FOR_RECOVERY
        return reason, WAIT_FOR_RECOVERY if recovers else WAIT_FOR_START
    cause = reason.removeprefix(DEACTIVATES)
    return (DEACTIVATED, cause) if cause != reason else (reason, "")


def counted(workload: Object, reason: str) -> dict[str, Any]:
    """Return `schedulingStats` with one more eviction, as a part of a status."""
    word, cause = why_evicted(workload, reason)
    rows = list(at(workload, ("status", "schedulingStats", "evictions")) or ())
    for number, row in enumerate(rows):
        if (row.get("reason"), row.get("underlyingCause")) == (word, cause):
            rows[number] = {**row, "count": int(row.get("count") or 0) + 1}
            break
    else:
        rows.append({"reason": word, "underlyingCause": cause, "count": 1})
    return {"schedulingStats": {"evictions": rows}}


def settled(workload: Object) -> Object:
    """Return the status of a Workload with quota, without our condition `WAITING`.

    The core removes it with its own admissions; this is for quota that somebody else assigned.
    """
    return {**_status(workload), "conditions": [row for row in conditions_of(workload) if row.get("type") != WAITING]}


def deactivating(workload: Object, cause: str, message: str, now: str) -> Object:
    """Return the status with the cause of a deactivation, recorded before `spec.active` is set to false.

    A new leader completes a deactivation that it finds recorded.
    """
    rows = with_condition(
        conditions_of(workload), DEACTIVATION_TARGET, True, cause, message, now, _generation(workload)
    )
    return {**_status(workload), "conditions": rows}


def released(workload: Object, now: str, *, again: bool = True) -> Object:
    """Return the status of a Workload whose pods are gone: without quota, and requeued if `again`."""
    why = find(workload, EVICTED) or {}
    reason, message = str(why.get("reason") or ""), str(why.get("message") or "")
    status = without_quota(workload, EVALUATION, message, now)
    held = not again or reason.startswith(tuple(REQUEUES))
    rows = with_condition(status["conditions"], REQUEUED, not held, reason, message, now, _generation(workload))
    return {**status, "conditions": rows}


def without_quota(workload: Object, reason: str, message: str, now: str) -> Object:
    """Return the status of a Workload that releases its quota, with the time for which it was admitted."""
    generation = _generation(workload)
    rows = with_condition(conditions_of(workload), QUOTA_RESERVED, False, reason, message, now, generation)
    rows = with_condition(rows, ADMITTED, False, *NO_RESERVATION, now, generation)
    return {**_status(workload), PAST_EXECUTION_SECONDS: _past(workload, now), "conditions": rows, "admission": None}


def waits(workload: Object, now: str) -> bool:
    """Return whether the back-off of a Workload is not over."""
    return milliseconds(at(workload, ("status", "requeueState", "requeueAt"))) > milliseconds(now)


def _past(workload: Object, now: str) -> int | None:
    """Return the seconds of admission so far; None if unknown, or reset after the maximum execution time."""
    admitted = find(workload, ADMITTED) or {}
    if (find(workload, EVICTED) or {}).get("reason") == OVERTIME:
        return None
    past = _status(workload).get(PAST_EXECUTION_SECONDS)
    if admitted.get("status") != "True" or not at(workload, ("spec", "maximumExecutionTimeSeconds")):
        return past if isinstance(past, int) else None
    lasted = milliseconds(now) - milliseconds(admitted.get("lastTransitionTime"))
    return int(past or 0) + max(0, lasted // 1000)


def run_time(workload: Object) -> int | None:
    """Return the milliseconds of the last run of a finished Workload, from its admission to its end.

    None if it ended without an admission, or if the clock was put back meanwhile.
    """
    admitted, ended = find(workload, ADMITTED) or {}, find(workload, FINISHED) or {}
    if admitted.get("status") != "True":
        return None
    lasted = milliseconds(ended.get("lastTransitionTime")) - milliseconds(admitted.get("lastTransitionTime"))
    return lasted if lasted >= 0 else None


def finished(workload: Object, finish: Finish, now: str) -> Object:
    """Return the status of a Workload whose job has finished; its admission is kept, and it waits no more."""
    rows: Conditions = [row for row in conditions_of(workload) if row.get("type") != WAITING]
    rows = with_condition(rows, FINISHED, True, finish.reason, finish.message, now, _generation(workload))
    return {**_status(workload), "conditions": rows}


def _assignment(pods: PodSetAssignment, amount: Amount) -> dict[str, Any]:
    usage = {name: amount(name, value) for name, value in pods.resource_usage.items()}
    maps = {"flavors": dict(pods.flavors), "resourceUsage": usage}
    # Go clients omit empty maps: what they write back must be equal.
    return {"name": pods.name, **{name: value for name, value in maps.items() if value}, "count": pods.count}


def _status(workload: Object) -> dict[str, Any]:
    return dict(workload.get("status") or {})


def _generation(workload: Object) -> int:
    return int((workload.get("metadata") or {}).get("generation") or 0)
