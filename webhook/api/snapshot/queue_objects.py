"""Reads queues, cohorts, flavors, checks and namespaces into the queue core's definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from webhook.api.amounts import amount, usage_text
from webhook.api.compatibility import unsupported
from webhook.api.compatibility.unsupported import NO_GATES, Gates
from webhook.api.crds import validity
from webhook.kube import quantity
from webhook.kube.times import milliseconds
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.queue.model import (
    WEIGHT,
    AdmissionCheck,
    AdmissionChecksStrategy,
    AdmissionCheckUse,
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    Fungibility,
    History,
    LocalQueue,
    Namespace,
    Preemption,
    Quota,
    Requirement,
    ResourceGroup,
    ResourceQuota,
    Selector,
    Taint,
    Toleration,
)

Object = Mapping[str, Any]
OLD_WORDS: Final = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
"""v1beta1's words for `whenCanBorrow` and `whenCanPreempt`, in v1beta2's."""


def flavor(obj: Object, gates: Gates = NO_GATES) -> Flavor:
    """Read a ResourceFlavor."""
    spec = obj.get("spec") or {}
    return Flavor(
        name=obj["metadata"]["name"],
        node_labels=dict(spec.get("nodeLabels") or {}),
        node_taints=tuple(
            Taint(t.get("key") or "", t.get("value") or "", t.get("effect") or "") for t in spec.get("nodeTaints") or ()
        ),
        tolerations=tolerations(spec.get("tolerations")),
        problem=_problem(obj, gates),
    )


def cluster_queue(obj: Object, gates: Gates = NO_GATES) -> ClusterQueue:
    """Read a ClusterQueue of v1beta1 or v1beta2."""
    spec = obj.get("spec") or {}
    status = (obj.get("status") or {}).get("fairSharing") or {}
    return ClusterQueue(
        name=obj["metadata"]["name"],
        cohort_name=spec.get("cohortName") or spec.get("cohort") or "",
        resource_groups=groups(spec.get("resourceGroups")),
        namespace_selector=selector(spec.get("namespaceSelector")),
        queueing_strategy=spec.get("queueingStrategy") or "BestEffortFIFO",
        preemption=_preemption(spec.get("preemption") or {}),
        fungibility=_fungibility(spec.get("flavorFungibility") or {}),
        weight=weight(spec.get("fairSharing")),
        stop_policy=spec.get("stopPolicy") or "None",
        admission_checks_strategy=checks_strategy(spec),
        admission_mode=((spec.get("admissionScope") or {}).get("admissionMode") or ""),
        history=history(status.get("admissionFairSharingStatus")),
        problem=_problem(obj, gates) or ("it is being deleted" if obj["metadata"].get("deletionTimestamp") else ""),
        **labelled(obj),
    )


def cohort(obj: Object, gates: Gates = NO_GATES) -> Cohort:
    """Read a Cohort of v1alpha1, v1beta1 or v1beta2."""
    spec = obj.get("spec") or {}
    return Cohort(
        name=obj["metadata"]["name"],
        parent=spec.get("parentName") or spec.get("parent") or "",
        resource_groups=groups(spec.get("resourceGroups")),
        weight=weight(spec.get("fairSharing")),
        problem=_problem(obj, gates),
        **labelled(obj),
    )


def local_queue(obj: Object, gates: Gates = NO_GATES) -> LocalQueue:
    """Read a LocalQueue."""
    spec = obj.get("spec") or {}
    status = (obj.get("status") or {}).get("fairSharing") or {}
    return LocalQueue(
        namespace=obj["metadata"].get("namespace") or "default",
        name=obj["metadata"]["name"],
        cluster_queue=spec.get("clusterQueue") or "",
        stop_policy=spec.get("stopPolicy") or "None",
        weight=weight(spec.get("fairSharing")),
        history=history(status.get("admissionFairSharingStatus")),
        problem=_problem(obj, gates),
        **labelled(obj),
    )


def check(obj: Object, gates: Gates = NO_GATES) -> AdmissionCheck:
    """Read an AdmissionCheck."""
    controller = (obj.get("spec") or {}).get("controllerName") or ""
    return AdmissionCheck(obj["metadata"]["name"], controller, check_is_active(obj), _problem(obj, gates))


def check_is_active(obj: Object) -> bool:
    """Return whether an AdmissionCheck may be used: its controller says so by the condition `Active`.

    A file has no uid and no controller yet; it counts as active unless its condition says otherwise.
    """
    conditions = (obj.get("status") or {}).get("conditions") or ()
    told = [c.get("status") == "True" for c in conditions if c.get("type") == "Active"]
    return all(told) if told else not obj["metadata"].get("uid")


def _problem(obj: Object, gates: Gates) -> str:
    """Return what in a definition is not allowed or not supported; "" if nothing is."""
    return validity.problem_of(obj) or unsupported.reason(str(obj.get("kind")), obj, gates)


def namespace(obj: Object, quotas: Iterable[Object] = ()) -> Namespace:
    """Read a Namespace, with the ResourceQuotas in it; it carries its own name as a label, as in a cluster."""
    metadata = obj["metadata"]
    name = metadata["name"]
    return Namespace(
        name=name,
        labels={NAMESPACE_NAME: name, **(metadata.get("labels") or {})},
        annotations=dict(metadata.get("annotations") or {}),
        quotas=tuple(
            resource_quota(q)
            for q in sorted(quotas, key=lambda q: str(q["metadata"]["name"]))
            if q["metadata"].get("namespace") == name
        ),
    )


def resource_quota(obj: Object) -> ResourceQuota:
    """Read a ResourceQuota; its status goes before its spec."""
    status = obj.get("status") or {}
    hard = status.get("hard") or (obj.get("spec") or {}).get("hard") or {}
    return ResourceQuota(obj["metadata"]["name"], _by_quota_name(hard), _by_quota_name(status.get("used") or {}))


def _by_quota_name(amounts: Mapping[str, Any]) -> dict[str, int]:
    return {name: amount(name.removeprefix("requests.").removeprefix("limits."), v) for name, v in amounts.items()}


def groups(value: Iterable[Object] | None) -> tuple[ResourceGroup, ...]:
    """Read resource groups."""
    return tuple(
        ResourceGroup(
            tuple(group.get("coveredResources") or ()),
            tuple(
                FlavorQuotas(f["name"], {r["name"]: _quota(r) for r in f.get("resources") or ()})
                for f in group.get("flavors") or ()
            ),
        )
        for group in value or ()
    )


def _quota(resource: Object) -> Quota:
    name = resource["name"]
    numbers = (_amount(name, resource.get(k)) for k in ("nominalQuota", "borrowingLimit", "lendingLimit"))
    nominal, borrowing, lending = numbers
    return Quota(nominal or 0, borrowing, lending)


def _amount(name: str, value: str | float | None) -> int | None:
    """Read an amount; one below 0 stops its queue, and must not take from the others of the tree."""
    return None if value is None else max(0, amount(name, value))


def _preemption(value: Object) -> Preemption:
    borrow = value.get("borrowWithinCohort") or {}
    return Preemption(
        value.get("withinClusterQueue") or "Never",
        value.get("reclaimWithinCohort") or "Never",
        BorrowWithinCohort(borrow.get("policy") or "Never", borrow.get("maxPriorityThreshold")),
    )


def _fungibility(value: Object) -> Fungibility:
    borrow = value.get("whenCanBorrow") or "MayStopSearch"
    preempt = value.get("whenCanPreempt") or "TryNextFlavor"
    return Fungibility(OLD_WORDS.get(borrow, borrow), OLD_WORDS.get(preempt, preempt), _preference(value))


def _preference(value: Object) -> str:
    wanted = value.get("preference") or ""
    return wanted if isinstance(wanted, str) else ""


def checks_strategy(spec: Object) -> AdmissionChecksStrategy:
    """Read the checks of a ClusterQueue's spec."""
    strategy = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    plain = (AdmissionCheckUse(name) for name in spec.get("admissionChecks") or ())
    return AdmissionChecksStrategy(
        (*plain, *(AdmissionCheckUse(c["name"], tuple(c.get("onFlavors") or ())) for c in strategy))
    )


def tolerations(value: Iterable[Object] | None) -> tuple[Toleration, ...]:
    """Read tolerations."""
    return tuple(
        Toleration(t.get("key") or "", t.get("operator") or "Equal", t.get("value") or "", t.get("effect") or "")
        for t in value or ()
    )


def selector(value: Object | None) -> Selector | None:
    """Read a label selector; absent it selects nothing, empty everything."""
    if value is None:
        return None
    labels = (Requirement(k, "In", (str(v),)) for k, v in sorted((value.get("matchLabels") or {}).items()))
    return Selector((*labels, *requirements(value.get("matchExpressions"))))


def requirements(value: Iterable[Object] | None) -> tuple[Requirement, ...]:
    """Read the requirements of a selector, or of a node selector's term."""
    return tuple(
        Requirement(r.get("key") or "", r.get("operator") or "", tuple(str(v) for v in r.get("values") or ()))
        for r in value or ()
    )


def weight(fair_sharing: Object | None) -> int:
    """Read a fair sharing weight in billionths, 1 where there is none; up to what an int of CEL holds."""
    value = (fair_sharing or {}).get("weight")
    return WEIGHT if value is None else min(max(0, quantity.parse(value).nanos), 2**63 - 1)


def history(value: Object | None) -> History:
    """Read decayed usage from a status."""
    if not value:
        return History()
    users = {str(u["name"]): _usage(u.get("consumedResources")) for u in value.get("users") or ()}
    return History(milliseconds(value.get("lastUpdate")), _usage(value.get("consumedResources")), users)


def _usage(consumed: Object | None) -> dict[str, float]:
    return {name: quantity.parse(v).nanos / (1e6 if name == "cpu" else 1e9) for name, v in (consumed or {}).items()}


def history_status(kept: History) -> dict[str, Any]:
    """Write decayed usage as `history` reads it. Users who have nothing any more are left out."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=kept.at)
    written: dict[str, Any] = {
        "consumedResources": _consumed(kept.usage),
        "lastUpdate": moment.isoformat(timespec="milliseconds" if kept.at % 1000 else "seconds").replace("+00:00", "Z"),
    }
    named = sorted((user, usage) for user, usage in kept.users.items() if user and usage)
    if named:
        written["users"] = [{"name": user, "consumedResources": _consumed(usage)} for user, usage in named]
    return written


def _consumed(usage: Mapping[str, float]) -> dict[str, str]:
    return {resource: usage_text(resource, number) for resource, number in sorted(usage.items())}


def labelled(obj: Object) -> dict[str, Any]:
    """Return an object's labels and annotations as arguments."""
    metadata = obj["metadata"]
    return {"labels": dict(metadata.get("labels") or {}), "annotations": dict(metadata.get("annotations") or {})}
