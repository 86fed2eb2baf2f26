"""The status of a Workload without quota: why it waits, in Kueue's conditions and one of our own. Pure.

What Kueue's Workload controller does: `QuotaReserved` and `Admitted` are False with a reason, inactive Workloads are
evicted, Workloads whose eviction is undone are requeued, and the checks of the queue get their entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.api import amounts
from webhook.api.pending_message import EVALUATED, condition_of, message_of
from webhook.api.snapshot.workload import GATE, is_on_hold
from webhook.api.stop_policy import is_stopped
from webhook.cluster.workloads import admission_checks
from webhook.cluster.workloads.conditions import (
    DEACTIVATES,
    EVALUATION,
    EVICTIONS,
    NO_RESERVATION,
    WAITING,
    evicted,
    undone,
    waits,
)
from webhook.kube.condition_types import (
    ADMITTED,
    CLUSTER_QUEUE_STOPPED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    LOCAL_QUEUE_STOPPED,
    QUOTA_RESERVED,
    REQUEUED,
    WAITING_FOR_REPLACEMENT_PODS,
)
from webhook.kube.conditions import conditions_of, find, holds, with_condition
from webhook.kube.fields import at
from webhook.queue.decisions import Pending, Reason
from webhook.queue.model import BY_ADMISSION_CHECK, BY_PODS_READY_TIMEOUT, PodSet
from webhook.store.objects import Object

GATED: Final = "AdmissionGated"
CLEARED: Final = "AdmissionGatedBy cleared, waiting for quota reservation"
_UNTIL_TIME: Final = (BY_ADMISSION_CHECK, BY_PODS_READY_TIMEOUT)
"""Evictions that are undone by time; others are undone by the queue, or by setting the workload active."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a Workload waits in: its LocalQueue, and that queue's ClusterQueue (name, and object if it exists).

    `inactive` says that the ClusterQueue is inactive, `pending` is the core's explanation, None if it has none yet;
    `asked` are the pod sets as the core counts them.
    """

    local: Object | None
    target_name: str = ""
    target: Object | None = None
    inactive: bool = False
    pending: Pending | None = None
    asked: Sequence[PodSet] = ()


def gate_of(workload: Object) -> str:
    """Return the admission gate of a Workload, "" if none."""
    return str((at(workload, ("metadata", "annotations")) or {}).get(GATE) or "")


def is_active(workload: Object) -> bool:
    """Return whether a Workload is active (`spec.active` is not false)."""
    return at(workload, ("spec", "active")) is not False


def status_of(workload: Object, around: Around, now: str) -> dict[str, Any]:
    """Return the new status; unchanged parts are kept."""
    generation = int(at(workload, ("metadata", "generation")) or 0)
    if not is_active(workload):
        workload = {**workload, "status": _deactivated(workload, now)}
    rows = conditions_of(workload)
    status = {**(workload.get("status") or {}), **_back_in_queue(workload, around, now)}
    rows = status.get("conditions") or rows
    if (why := _why(workload, around)) is not None:
        rows = with_condition(rows, QUOTA_RESERVED, False, *why, now, generation)
        rows = with_condition(rows, ADMITTED, False, *NO_RESERVATION, now, generation)
    rows = _waiting(rows, around.pending, now, generation)
    if around.target is not None:
        old = admission_checks.states_of(workload)
        new = admission_checks.synced(old, admission_checks.always(around.target), now)
        status |= {"admissionChecks": new} if new or old else {}
    if around.pending is not None and around.asked:
        status["resourceRequests"] = [_request(pods) for pods in around.asked]
    return {**status, "conditions": rows} if rows else status


def _request(pods: PodSet) -> dict[str, Any]:
    """Return the total requests of a pod set, in the resources that quota is counted in."""
    amounts_ = {name: amounts.text(name, pods.count * amount) for name, amount in pods.requests.items()}
    return {"name": pods.name, **({"resources": amounts_} if amounts_ else {})}


def _waiting(rows: list[dict[str, Any]], pending: Pending | None, now: str, generation: int) -> list[dict[str, Any]]:
    """Add our condition, with details that Kueue's reasons do not have."""
    if pending is None:
        return rows
    message = message_of(pending) or pending.reason.value
    return with_condition(rows, WAITING, True, pending.reason.value, message, now, generation)


def _why(workload: Object, around: Around) -> tuple[str, str] | None:
    """Return reason and message of the condition `QuotaReserved`; None if it stays unchanged."""
    name = at(workload, ("spec", "queueName")) or ""
    if not is_active(workload):
        return DEACTIVATED, EVICTIONS[DEACTIVATED]
    if around.local is None:
        return "Misconfigured", f"LocalQueue {name} doesn't exist"
    if is_stopped(around.local):
        return "Suspended", f"LocalQueue {name} is inactive"
    if around.target is None:
        return "Misconfigured", f"ClusterQueue {around.target_name} doesn't exist"
    if around.inactive:
        return "Suspended", f"ClusterQueue {around.target_name} is inactive"
    if gate := gate_of(workload):
        return GATED, f"Admission is gated by: {gate}"
    old = find(workload, QUOTA_RESERVED) or {}
    if is_on_hold(workload) or (old and holds(workload, WAITING_FOR_REPLACEMENT_PODS)):
        return None
    if old.get("reason") == GATED:
        return EVALUATION, CLEARED
    if around.pending is None:
        return None  # not considered yet; the next round does
    if around.pending.reason is Reason.BACKOFF:
        return None if old else (EVALUATION, EVALUATED)
    explanation = condition_of(around.pending)
    return None if explanation[0] == EVALUATION and old.get("reason") == EVALUATION else explanation


def _deactivated(workload: Object, now: str) -> dict[str, Any]:
    """Return the status of an inactive Workload: evicted, although it has no quota, and without a back-off."""
    if holds(workload, EVICTED):
        status = workload.get("status") or {}
        return {**status, "requeueState": None} if status.get("requeueState") else status
    cause = find(workload, DEACTIVATION_TARGET)
    if cause is None:
        return evicted(workload, DEACTIVATED, EVICTIONS[DEACTIVATED], now)
    message = f"{EVICTIONS[DEACTIVATED]} due to {cause.get('message')}"
    return evicted(workload, f"{DEACTIVATES}{cause.get('reason')}", message, now)


def _back_in_queue(workload: Object, around: Around, now: str) -> Mapping[str, Any]:
    """Return the changes of the status if the eviction is undone or the back-off is over."""
    state = at(workload, ("status", "requeueState")) or {}
    over = is_active(workload) and bool(state.get("requeueAt")) and not waits(workload, now)
    part: dict[str, Any] = {"requeueState": {**state, "requeueAt": None}} if over else {}
    held = find(workload, REQUEUED) or {}
    if held.get("status") != "False" or not _is_undone(str(held.get("reason")), workload, around, now):
        return part
    requeued = undone(held)
    if requeued is None:
        return part
    generation = int(at(workload, ("metadata", "generation")) or 0)
    return {**part, "conditions": with_condition(conditions_of(workload), REQUEUED, True, *requeued, now, generation)}


def still_held(workload: Object, now: str) -> dict[str, Any]:
    """Return the status of an evicted Workload that still has quota: only its back-off may end.

    If a controller that stops the job sets `Requeued` itself, it is False before the quota is released.
    """
    held = find(workload, REQUEUED) or {}
    backs_off = held.get("status") == "False" and str(held.get("reason")).startswith(_UNTIL_TIME)
    return {**(workload.get("status") or {}), **(_back_in_queue(workload, Around(None), now) if backs_off else {})}


def _is_undone(reason: str, workload: Object, around: Around, now: str) -> bool:
    if not is_active(workload):
        return False
    if reason.startswith(_UNTIL_TIME):
        return not waits(workload, now)
    if reason.startswith(LOCAL_QUEUE_STOPPED):
        return around.local is not None and not is_stopped(around.local)
    if reason.startswith(CLUSTER_QUEUE_STOPPED):
        return around.target is not None and not is_stopped(around.target)
    return reason.startswith(DEACTIVATED)
