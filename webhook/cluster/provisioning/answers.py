"""The entry of `status.admissionChecks` that follows from the conditions of a ProvisioningRequest. Pure."""

from __future__ import annotations

from typing import Any, Final

from webhook.api.types.provisioning import ProvisioningRequestConfigSpec, RetryStrategy
from webhook.cluster.provisioning.requests import attempt_of, template_name
from webhook.cluster.workloads.admission_checks import PENDING, READY, REJECTED, RETRY
from webhook.kube.condition_types import ADMITTED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of

INACTIVE: Final = "the check is not active"
NOT_NEEDED: Final = "the provisioning request is not needed"
CONSUMES: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS: Final = "autoscaling.x-k8s.io/provisioning-class-name"
_OVER: Final = {"Failed": "failure", "BookingExpired": "booking expired"}
"""Conditions after which a new request is made -> the text for it in messages."""


def is_over(request: Object, workload: Object) -> bool:
    """Return whether a request has ended unsuccessfully; an expired booking has not if the Workload is admitted."""
    return holds(request, "Failed") or (holds(request, "BookingExpired") and not holds(workload, ADMITTED))


def answer(row: Object, request: Object, workload: Object, config: ProvisioningRequestConfigSpec, now: str) -> Object:
    """Return the entry of a check after its latest request; the same entry if nothing changed."""
    over = next((type_ for type_ in _OVER if holds(request, type_)), "")
    revoked = holds(request, "CapacityRevoked")
    if over == "Failed" or (over and not revoked):
        return _again(row, request, workload, over, config.retry_strategy, now) if is_over(request, workload) else row
    if revoked:
        return with_state(row, REJECTED, _message(request, "CapacityRevoked"), now)
    if holds(request, "Provisioned"):
        if row.get("state") == READY:
            return row
        new = with_state(row, READY, _message(request, "Provisioned"), now)
        return {**new, "podSetUpdates": _updates(request, workload, config)}
    if holds(request, "Accepted"):
        eta = find(request, "Provisioned")
        return row if eta is None else with_state(row, PENDING, str(eta.get("message") or ""), now)
    return with_state(row, PENDING, "", now)


def with_state(row: Object, state: str, message: str, now: str) -> Object:
    """Return an entry with a state and a message; its transition time changes only if the state does."""
    changed = {} if row.get("state") == state else {"state": state, "lastTransitionTime": now}
    return {**row, **changed, "message": message[:32768]}


def _again(row: Object, request: Object, workload: Object, why: str, strategy: RetryStrategy, now: str) -> Object:
    """Return the entry after a failed attempt: Retry with exponential back-off, Rejected after too many.

    If the attempt has already been counted in `retryCount`, only the message changes.
    """
    attempt = attempt_of(request, key_of(workload)[1], str(row.get("name")))
    message, tried = _message(request, why), int(row.get("retryCount") or 0)
    if attempt > strategy.backoff_limit_count:
        return with_state(row, REJECTED, message, now)
    message = f"Retrying after {_OVER[why]}: {message}"
    if attempt <= tried:
        return {**row, "message": message}
    wait = min(strategy.backoff_base_seconds * 2 ** min(tried, 31), strategy.backoff_max_seconds)
    return {**with_state(row, RETRY, message, now), "requeueAfterSeconds": wait}


def _message(request: Object, type_: str) -> str:
    return str((find(request, type_) or {}).get("message") or "")


def _updates(request: Object, workload: Object, config: ProvisioningRequestConfigSpec) -> list[dict[str, Any]]:
    """Return the pod set updates: annotations with the request to consume, and node labels from its details."""
    name = key_of(request)[1]
    pod_sets = {template_name(name, str(p.get("name"))): p.get("name") for p in at(workload, ("spec", "podSets")) or ()}
    annotations = {CONSUMES: name, CLASS: at(request, ("spec", "provisioningClassName"))}
    details = at(request, ("status", "provisioningClassDetails")) or {}
    wanted = config.pod_set_updates.node_selector if config.pod_set_updates else []
    labels = {u.key: details[d] for u in wanted if (d := u.value_from_provisioning_class_detail) in details}
    extra = {"nodeSelector": labels} if labels else {}
    called = (at(row, ("podTemplateRef", "name")) for row in at(request, ("spec", "podSets")) or ())
    return [{"name": pod_sets[c], "annotations": annotations, **extra} for c in called if c in pod_sets]
