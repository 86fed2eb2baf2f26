"""What a ProvisioningRequest comes to for its check: the entry of `status.admissionChecks`. Pure."""

from __future__ import annotations

from typing import Any, Final

from webhook.api.types.provisioning import ProvisioningRequestConfigSpec, RetryStrategy
from webhook.cluster.provisioning.requests import attempt_of, template_name
from webhook.cluster.workloads.admission_checks import PENDING, READY, REJECTED, RETRY
from webhook.cluster.workloads.conditions import ADMITTED
from webhook.jobs.describe import at
from webhook.kube.conditions import find, holds
from webhook.store.objects import Object, key_of

INACTIVE: Final = "the check is not active"
NOT_NEEDED: Final = "the provisioning request is not needed"
CONSUMES: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS: Final = "autoscaling.x-k8s.io/provisioning-class-name"
_OVER: Final = {"Failed": "failure", "BookingExpired": "booking expired"}
"""Conditions after which a request is made again, and how that is said."""


def is_over(request: Object, workload: Object) -> bool:
    """Say whether another request is to be made; a booking that ended after the Workload was admitted did its part."""
    return holds(request, "Failed") or (holds(request, "BookingExpired") and not holds(workload, ADMITTED))


def answer(row: Object, request: Object, workload: Object, config: ProvisioningRequestConfigSpec, now: str) -> Object:
    """Give the entry of a check after its latest request; the same where nothing changed."""
    over = next((type_ for type_ in _OVER if holds(request, type_)), "")
    revoked = holds(request, "CapacityRevoked")
    if over == "Failed" or (over and not revoked):
        return _again(row, request, workload, over, config.retry_strategy, now) if is_over(request, workload) else row
    if revoked:
        return said(row, REJECTED, _message(request, "CapacityRevoked"), now)
    if holds(request, "Provisioned"):
        if row.get("state") == READY:
            return row
        new = said(row, READY, _message(request, "Provisioned"), now)
        return {**new, "podSetUpdates": _updates(request, workload, config)}
    if holds(request, "Accepted"):
        eta = find(request, "Provisioned")
        return row if eta is None else said(row, PENDING, str(eta.get("message") or ""), now)
    return said(row, PENDING, "", now)


def said(row: Object, state: str, message: str, now: str) -> Object:
    """Give an entry with a state and a message; its time changes with its state."""
    changed = {} if row.get("state") == state else {"state": state, "lastTransitionTime": now}
    return {**row, **changed, "message": message[:32768]}


def _again(row: Object, request: Object, workload: Object, why: str, strategy: RetryStrategy, now: str) -> Object:
    """Ask for another try, later each time; refuse after too many. An attempt that was answered for already waits."""
    attempt = attempt_of(request, key_of(workload)[1], str(row.get("name")))
    message, tried = _message(request, why), int(row.get("retryCount") or 0)
    if attempt > strategy.backoff_limit_count:
        return said(row, REJECTED, message, now)
    message = f"Retrying after {_OVER[why]}: {message}"
    if attempt <= tried:
        return {**row, "message": message}
    wait = min(strategy.backoff_base_seconds * 2 ** min(tried, 31), strategy.backoff_max_seconds)
    return {**said(row, RETRY, message, now), "requeueAfterSeconds": wait}


def _message(request: Object, type_: str) -> str:
    return str((find(request, type_) or {}).get("message") or "")


def _updates(request: Object, workload: Object, config: ProvisioningRequestConfigSpec) -> list[dict[str, Any]]:
    """Give what the pods get: which request they use, and the node labels that its details name."""
    name = key_of(request)[1]
    pod_sets = {template_name(name, str(p.get("name"))): p.get("name") for p in at(workload, ("spec", "podSets")) or ()}
    annotations = {CONSUMES: name, CLASS: at(request, ("spec", "provisioningClassName"))}
    details = at(request, ("status", "provisioningClassDetails")) or {}
    wanted = config.pod_set_updates.node_selector if config.pod_set_updates else []
    labels = {u.key: details[d] for u in wanted if (d := u.value_from_provisioning_class_detail) in details}
    extra = {"nodeSelector": labels} if labels else {}
    called = (at(row, ("podTemplateRef", "name")) for row in at(request, ("spec", "podSets")) or ())
    return [{"name": pod_sets[c], "annotations": annotations, **extra} for c in called if c in pod_sets]
