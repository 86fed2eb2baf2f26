"""The status of a Workload that holds no quota: why, in Kueue's conditions and in one of our own. Pure.

What Kueue's Workload controller keeps up to date: `QuotaReserved` and `Admitted` are False with a reason, an inactive
one is evicted, one whose eviction is undone is queued again, and the checks of its queue are asked beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.api import amounts
from webhook.api.pending_message import EVALUATED, condition_of, message_of
from webhook.api.snapshot.workload import GATE, REPLACEMENT, is_on_hold
from webhook.cluster.workloads import admission_checks
from webhook.cluster.workloads.conditions import (
    ADMITTED,
    DEACTIVATED,
    DEACTIVATES,
    DEACTIVATION_TARGET,
    EVALUATION,
    EVICTED,
    EVICTIONS,
    NO_RESERVATION,
    QUOTA_RESERVED,
    REQUEUED,
    WAITING,
    evicted,
    undone,
    waits,
)
from webhook.jobs.describe import at
from webhook.kube.conditions import conditions_of, find, holds, with_condition
from webhook.queue.decisions import Pending, Reason
from webhook.queue.model import PodSet
from webhook.store.objects import Object

GATED: Final = "AdmissionGated"
CLEARED: Final = "AdmissionGatedBy cleared, waiting for quota reservation"
_UNTIL_TIME: Final = ("AdmissionCheck", "PodsReadyTimeout")
"""Evictions that are undone by time; others are by the queue, or by whoever sets the workload active again."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a Workload waits in: its LocalQueue, and the ClusterQueue of that (by name, and itself where it is there).

    `inactive` says that the ClusterQueue takes nothing, `pending` what the core says, None where it does not know yet;
    `asked` are the pod sets as the core counts them.
    """

    local: Object | None
    target_name: str = ""
    target: Object | None = None
    inactive: bool = False
    pending: Pending | None = None
    asked: Sequence[PodSet] = ()


def gate_of(workload: Object) -> str:
    """Say who has to let a Workload go, "" for nobody."""
    return str((at(workload, ("metadata", "annotations")) or {}).get(GATE) or "")


def is_active(workload: Object) -> bool:
    """Say whether nobody set a Workload inactive."""
    return at(workload, ("spec", "active")) is not False


def status_of(workload: Object, around: Around, now: str) -> dict[str, Any]:
    """Give the status; what does not change is as it was."""
    generation = int(at(workload, ("metadata", "generation")) or 0)
    if not is_active(workload):
        workload = {**workload, "status": _deactivated(workload, now)}
    rows = conditions_of(workload)
    status = {**(workload.get("status") or {}), **_back_in_queue(workload, around, now)}
    rows = status.get("conditions") or rows
    if (told := _why(workload, around)) is not None:
        rows = with_condition(rows, QUOTA_RESERVED, False, *told, now, generation)
        rows = with_condition(rows, ADMITTED, False, *NO_RESERVATION, now, generation)
    rows = _waiting(rows, around.pending, now, generation)
    if around.target is not None:
        old = admission_checks.states_of(workload)
        new = admission_checks.synced(old, admission_checks.asked(around.target, {}), now)
        status |= {"admissionChecks": new} if new or old else {}
    if around.pending is not None and around.asked:
        status["resourceRequests"] = [_request(pods) for pods in around.asked]
    return {**status, "conditions": rows} if rows else status


def _request(pods: PodSet) -> dict[str, Any]:
    """Give what all pods of a set ask for, by the resources that quota is counted in."""
    amounts_ = {name: amounts.text(name, pods.count * one) for name, one in pods.requests.items()}
    return {"name": pods.name, **({"resources": amounts_} if amounts_ else {})}


def _waiting(rows: list[dict[str, Any]], pending: Pending | None, now: str, generation: int) -> list[dict[str, Any]]:
    """Say what the core knows beyond Kueue's reasons."""
    if pending is None:
        return rows
    told = message_of(pending) or pending.reason.value
    return with_condition(rows, WAITING, True, pending.reason.value, told, now, generation)


def _why(workload: Object, around: Around) -> tuple[str, str] | None:
    """Give reason and message of the condition `QuotaReserved`; None where it stays as it is."""
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
    if is_on_hold(workload) or (old and holds(workload, REPLACEMENT)):
        return None
    if old.get("reason") == GATED:
        return EVALUATION, CLEARED
    if around.pending is None:
        return None  # no round has looked at it yet; one is about to
    if around.pending.reason is Reason.BACKOFF:
        return None if old else (EVALUATION, EVALUATED)
    told = condition_of(around.pending)
    return None if told[0] == EVALUATION and old.get("reason") == EVALUATION else told


def _deactivated(workload: Object, now: str) -> dict[str, Any]:
    """Give the status of one that is not active: evicted, though it holds nothing, and without a back-off."""
    if holds(workload, EVICTED):
        status = workload.get("status") or {}
        return {**status, "requeueState": None} if status.get("requeueState") else status
    cause = find(workload, DEACTIVATION_TARGET)
    if cause is None:
        return evicted(workload, DEACTIVATED, EVICTIONS[DEACTIVATED], now)
    message = f"{EVICTIONS[DEACTIVATED]} due to {cause.get('message')}"
    return evicted(workload, f"{DEACTIVATES}{cause.get('reason')}", message, now)


def _back_in_queue(workload: Object, around: Around, now: str) -> Mapping[str, Any]:
    """Give what changes in the status of one that may be queued again: its eviction is undone, or its back-off over."""
    state = at(workload, ("status", "requeueState")) or {}
    over = is_active(workload) and bool(state.get("requeueAt")) and not waits(workload, now)
    part: dict[str, Any] = {"requeueState": {**state, "requeueAt": None}} if over else {}
    held = find(workload, REQUEUED) or {}
    if held.get("status") != "False" or not _is_undone(str(held.get("reason")), workload, around, now):
        return part
    said = undone(held)
    if said is None:
        return part
    generation = int(at(workload, ("metadata", "generation")) or 0)
    return {**part, "conditions": with_condition(conditions_of(workload), REQUEUED, True, *said, now, generation)}


def still_held(workload: Object, now: str) -> dict[str, Any]:
    """Give the status of one that is evicted and holds its quota still: only its back-off may end meanwhile.

    `Requeued` says False before the quota is back where who stops the job says so himself.
    """
    held = find(workload, REQUEUED) or {}
    backs_off = held.get("status") == "False" and str(held.get("reason")).startswith(_UNTIL_TIME)
    return {**(workload.get("status") or {}), **(_back_in_queue(workload, Around(None), now) if backs_off else {})}


def _is_undone(reason: str, workload: Object, around: Around, now: str) -> bool:
    if not is_active(workload):
        return False
    if reason.startswith(_UNTIL_TIME):
        return not waits(workload, now)
    if reason.startswith("LocalQueueStopped"):
        return around.local is not None and not is_stopped(around.local)
    if reason.startswith("ClusterQueueStopped"):
        return around.target is not None and not is_stopped(around.target)
    return reason.startswith(DEACTIVATED)


def is_stopped(queue: Object) -> bool:
    """Say whether somebody stopped a queue, for good or until it is empty."""
    return (at(queue, ("spec", "stopPolicy")) or "None") != "None"
