"""Reads Workload objects into the queue core's workloads: requests summed, defaults set, conditions interpreted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from webhook.api.amounts import amount, from_nanos
from webhook.api.compatibility import unsupported
from webhook.api.configuration.read import configuration_of
from webhook.api.configuration.sections import QueueSettings, RequeuingTimestamp
from webhook.api.crds import validity
from webhook.api.job_to_workload import UNSUPPORTED
from webhook.api.limit_ranges import problem_of
from webhook.api.requests import pod_requests, with_defaults
from webhook.api.snapshot.queue_objects import labelled, requirements, tolerations
from webhook.api.snapshot.workload_times import deadline, readiness, run_time, true_conditions
from webhook.api.transformations import counted
from webhook.jobs.kinds import KINDS as JOB_KINDS
from webhook.kube.condition_types import (
    ADMITTED,
    CLUSTER_QUEUE_STOPPED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    LOCAL_QUEUE_STOPPED,
    ON_HOLD,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    WAITING_FOR_REPLACEMENT_PODS,
)
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.kube.gvk import split_api_version
from webhook.kube.times import milliseconds
from webhook.queue.decisions import PreemptionReason
from webhook.queue.model import (
    BY_ADMISSION_CHECK,
    BY_PODS_READY_TIMEOUT,
    Admission,
    PodSet,
    PodSetAssignment,
    Requeueing,
    Selector,
    Workload,
)

Object = Mapping[str, Any]
REMEMBERED_POD_SETS: Final = 10_000
"""So many different texts of pod sets are remembered."""
USER: Final = "sluice.dev/user"
ARRIVAL: Final = "sluice.dev/arrival"
"""An annotation of a Workload: when its job was created, and the job's version then.

Creation times have whole seconds only; among jobs of one second the version tells who came first.
"""
BOOST: Final = "kueue.x-k8s.io/priority-boost"
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,9}")
GATE: Final = "kueue.x-k8s.io/admission-gated-by"
"""An annotation: who has to let a Workload go before it may be admitted, comma separated."""
_STARTED: Final = frozenset((kind.group, kind.kind) for kind in JOB_KINDS if kind.held or kind.grouped)
KNOWN_END: Final = (BY_PODS_READY_TIMEOUT, BY_ADMISSION_CHECK, CLUSTER_QUEUE_STOPPED, LOCAL_QUEUE_STOPPED, DEACTIVATED)
"""How the reasons begin for which `Requeued` is False until something that the core sees by itself."""


@dataclass(frozen=True, slots=True)
class Pods:
    """The pod sets of a Workload, and the first thing in them that is invalid, or not supported or allowed."""

    sets: tuple[PodSet, ...]
    invalid: str
    refused: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What decides how a Workload is read, besides itself. `known` has pods as read, by namespace and text."""

    limit_ranges: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    classes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    overheads: Mapping[str, Object] = field(default_factory=dict)
    settings: QueueSettings = field(default_factory=QueueSettings)
    known: dict[tuple[str, bytes], Pods] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, objects: Mapping[str, Iterable[Object]], settings: QueueSettings) -> Surroundings:
        """Read LimitRanges, classes of priority and run time, and Kueue's Configuration, which replaces `settings`."""
        ranges: dict[str, tuple[Object, ...]] = {}
        for item in objects.get("LimitRange", ()):
            namespace = item["metadata"].get("namespace") or "default"
            ranges[namespace] = (*ranges.get(namespace, ()), item)
        for item in objects.get("Configuration", ()):
            settings = configuration_of(item)
        return cls(
            ranges,
            {
                (kind, c["metadata"]["name"]): int(c.get("value") or 0)
                for kind in ("PriorityClass", "WorkloadPriorityClass")
                for c in objects.get(kind, ())
            },
            {
                c["metadata"]["name"]: (c.get("overhead") or {}).get("podFixed") or {}
                for c in objects.get("RuntimeClass", ())
            },
            settings,
        )


def names(obj: Object, kind: str, around: Object) -> bool:
    """Return whether a Workload names a RuntimeClass or a priority class."""
    name = around["metadata"]["name"]
    if kind == "RuntimeClass":
        pods = at(obj, ("spec", "podSets"))
        return name in [
            at(p, ("template", "spec", "runtimeClassName")) for p in (pods if isinstance(pods, list) else ())
        ]
    ref = at(obj, ("spec", "priorityClassRef"))
    named = at(ref, ("name",)) or at(obj, ("spec", "priorityClassName"))
    return at(obj, ("spec", "priority")) is None and named == name and at(ref, ("kind",)) in (None, kind)


def still_known(known: Mapping[tuple[str, bytes], Pods], kind: str, around: Object) -> Mapping[tuple[str, bytes], Pods]:
    """Return the pods that were read, without those that an object of a kind around them may change."""
    if kind == "RuntimeClass":
        return {}
    if kind != "LimitRange":
        return known
    return {key: pods for key, pods in known.items() if key[0] != namespace_of(around)}


def namespace_of(obj: Object) -> str:
    """Return the namespace of an object; files may leave it out."""
    return str(at(obj, ("metadata", "namespace")) or "default")


def labels_of(obj: Object | None) -> Mapping[str, str]:
    """Return the labels of an object; none where it is not there."""
    return at(obj, ("metadata", "labels")) or {}


def has_job(obj: Object) -> bool:
    """Return whether a Workload belongs to a job or a Pod that Sluice starts."""
    owners = at(obj, ("metadata", "ownerReferences"))
    found = [each for each in owners if isinstance(each, dict)] if isinstance(owners, list) else []
    return any((split_api_version(str(o.get("apiVersion") or ""))[0], o.get("kind")) in _STARTED for o in found)


def workload(obj: Object, around: Surroundings) -> Workload:
    """Read a Workload of v1beta1 or v1beta2."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    namespace = metadata.get("namespace") or "default"
    conditions = true_conditions(status)
    done = _uncounted(obj, around.settings)
    pods = _pods(obj, namespace, done, around)
    created = milliseconds(metadata.get("creationTimestamp"))
    admission = _admission(obj, conditions, around.settings)
    evicted = conditions.get(EVICTED)
    requeue = status.get("requeueState") or {}
    labels = labelled(obj)
    boost = _boost(labels["annotations"]) if around.settings.enabled("PriorityBoost") else 0
    return Workload(
        namespace=namespace,
        name=metadata["name"],
        queue_name=spec.get("queueName") or "",
        pod_sets=pods.sets,
        priority=_priority(spec, around) + boost,
        priority_boost=boost,
        created=created,
        arrival=labels["annotations"].get(ARRIVAL, "").partition(" ")[2].rjust(20, "0"),
        uid=str(metadata.get("uid") or ""),
        queued_at=requeueing(around.settings).queued_at(created, *_evictions(conditions)),
        active=spec.get("active", True) is not False and DEACTIVATION_TARGET not in conditions,
        finished=FINISHED in conditions,
        admission=admission,
        admitted=ADMITTED in conditions,
        evicted=admission is not None and evicted is not None,
        evicted_at=milliseconds(evicted.get("lastTransitionTime")) if evicted else 0,
        evicted_reason=str(evicted.get("reason") or "") if evicted else "",
        requeue_at=milliseconds(requeue.get("requeueAt")),
        requeue_count=int(requeue.get("count") or 0),
        problem=pods.invalid or _unsupported(obj, labels["annotations"], around.settings.feature_gates) or pods.refused,
        held=_gated(labels["annotations"], around.settings) or _held(status),
        deadline=deadline(spec, status, conditions),
        **readiness(status, conditions, admission, waits=around.settings.wait_for_pods_ready is not None),
        checks={c["name"]: str(c.get("state") or "Pending") for c in status.get("admissionChecks") or ()},
        user=labels["annotations"].get(USER, ""),
        run_time=run_time(spec, labels["annotations"]),
        priority_class=(spec.get("priorityClassRef") or {}).get("name") or spec.get("priorityClassName") or "",
        **labels,
    )


def _pods(obj: Object, namespace: str, done: Mapping[str, int], around: Surroundings) -> Pods:
    """Read pod sets; of those that are written the same, once, so that they are one object too."""
    pod_sets = (obj.get("spec") or {}).get("podSets") or ()
    try:
        key = None if done else (namespace, orjson.dumps(pod_sets))
    except TypeError:  # such as a number beyond 64 bits
        key = None
    if key is not None and (workload := around.known.get(key)) is not None:
        return workload
    ranges = around.limit_ranges.get(namespace, ())
    specs = [_filled(p, ranges, around) for p in pod_sets]
    sets = tuple(_pod_set(p, s, done, around) for p, s in zip(pod_sets, specs, strict=True))
    refused = unsupported.reason_of_pod_sets(obj, around.settings.feature_gates) or problem_of(specs, ranges)
    pods = Pods(sets, validity.problem_of_workload(obj), refused)
    if key is not None:
        if len(around.known) >= REMEMBERED_POD_SETS:
            around.known.clear()
        around.known[key] = pods
    return pods


def pod_set_requests(spec: Object, around: Surroundings) -> dict[str, int]:
    """Sum what one pod asks for as quota counts it, in the core's numbers."""
    return {r: from_nanos(r, max(0, n)) for r, n in counted(pod_requests(spec), around.settings.resources).items()}


def _filled(pod_set: Object, ranges: Iterable[Object], around: Surroundings) -> dict[str, Any]:
    spec = (pod_set.get("template") or {}).get("spec") or {}
    filled = with_defaults(spec, ranges)
    overhead = around.overheads.get(str(spec.get("runtimeClassName") or ""))
    return {**filled, "overhead": overhead} if overhead and not spec.get("overhead") else filled


def _pod_set(value: Object, spec: Object, done: Mapping[str, int], around: Surroundings) -> PodSet:
    name = value.get("name") or "main"
    count = int(value.get("count", 1))
    least = value.get("minCount")
    node_affinity = ((spec.get("affinity") or {}).get("nodeAffinity")) or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    pods = PodSet(
        name=name,
        count=max(0, count - done.get(name, 0)),
        requests=pod_set_requests(spec, around),
        min_count=None if least is None else min(int(least), max(0, count - done.get(name, 0))),
        node_selector=dict(spec.get("nodeSelector") or {}),
        affinity=_terms(required) if required is not None else None,
        tolerations=tolerations(spec.get("tolerations")),
    )
    hash((*pods.node_selector.items(), pods.affinity, pods.tolerations))  # a list for a text raises TypeError here
    return pods


def _terms(required: Object) -> tuple[Selector, ...]:
    return tuple(Selector(requirements(t.get("matchExpressions"))) for t in required.get("nodeSelectorTerms") or ())


def _priority(spec: Object, around: Surroundings) -> int:
    if (priority := spec.get("priority")) is not None:
        return int(priority)
    ref = spec.get("priorityClassRef") or {}
    name = str(ref.get("name") or spec.get("priorityClassName") or "")
    kinds = (ref["kind"],) if ref.get("kind") else ("WorkloadPriorityClass", "PriorityClass")
    return next((around.classes[k, name] for k in kinds if (k, name) in around.classes), 0)


def _boost(annotations: Mapping[str, str]) -> int:
    """Return what is added to a workload's priority; 0 where it is no whole number."""
    boost = annotations.get(BOOST, "")
    return int(boost) if _WHOLE.fullmatch(boost) else 0


def requeueing(settings: QueueSettings) -> Requeueing:
    """Return what evicted workloads are ordered by.

    Where queues of a cohort are not ordered by priority, a workload comes after the one that preempted it.
    """
    waiting = settings.wait_for_pods_ready
    by_creation = waiting is not None and waiting.requeuing.timestamp is RequeuingTimestamp.CREATION
    by_priority = settings.enabled("PrioritySortingWithinCohort", default=True)
    return Requeueing(
        by_eviction=(BY_ADMISSION_CHECK,) if by_creation else (BY_PODS_READY_TIMEOUT, BY_ADMISSION_CHECK),
        behind=() if by_priority else (PreemptionReason.RECLAIM_WHILE_BORROWING.value,),
    )


def _evictions(conditions: Mapping[str, Object]) -> Iterator[tuple[str, int]]:
    """Yield why and when a workload was evicted, and preempted."""
    for condition in (conditions[type_] for type_ in (EVICTED, PREEMPTED) if type_ in conditions):
        yield str(condition.get("reason")), milliseconds(condition.get("lastTransitionTime"))


def reclaimed(obj: Object) -> dict[str, int]:
    """Return the number of pods that need no quota any more, by pod set (`status.reclaimablePods`)."""
    status = obj.get("status") or {}
    return {p["name"]: int(p.get("count") or 0) for p in status.get("reclaimablePods") or ()}


def _uncounted(obj: Object, settings: QueueSettings) -> dict[str, int]:
    return reclaimed(obj) if settings.enabled("ReclaimablePods", default=True) else {}


def assignments_of(obj: Object, settings: QueueSettings) -> tuple[PodSetAssignment, ...]:
    """Return what the pod sets of a Workload hold: without pods that are done, and those that its job has no more."""
    status = obj.get("status") or {}
    admission, done = status.get("admission") or {}, _uncounted(obj, settings)
    most = {p.get("name"): int(p.get("count", 1)) for p in (obj.get("spec") or {}).get("podSets") or ()}
    return tuple(_assignment(p, most, done) for p in admission.get("podSetAssignments") or ())


def _admission(obj: Object, conditions: Mapping[str, Object], settings: QueueSettings) -> Admission | None:
    value = (obj.get("status") or {}).get("admission")
    reserved = conditions.get(QUOTA_RESERVED)
    if not value or reserved is None:
        return None
    since = milliseconds(reserved.get("lastTransitionTime"))
    return Admission(value["clusterQueue"], assignments_of(obj, settings), since)


def _assignment(value: Object, most: Mapping[Any, int], done: Mapping[str, int]) -> PodSetAssignment:
    name = value.get("name") or "main"
    count = int(value.get("count") or 0)
    left = max(0, min(count, most.get(name, count) - done.get(name, 0)))
    usage = {r: amount(r, q) for r, q in (value.get("resourceUsage") or {}).items()}
    if count and left < count:
        usage = {r: n // count * left for r, n in usage.items()}
    return PodSetAssignment(name, dict(value.get("flavors") or {}), usage, left)


def _held(status: Object) -> str:
    """Return why the condition `Requeued` keeps a workload out of its queue.

    It does not where the core itself knows when that ends: a back-off, a stopped queue, a workload set inactive. What
    has pods to replace, or none for now, is held as well.
    """
    workload = {"status": status}
    if holds(workload, WAITING_FOR_REPLACEMENT_PODS):
        return "waiting until pods of its group are replaced"
    if is_on_hold(workload):
        return "on hold: its job has no pods"
    rows = (c for c in status.get("conditions") or () if c.get("type") == REQUEUED and c.get("status") == "False")
    row = next(rows, None)
    if row is None:
        return ""
    reason = str(row.get("reason") or "Unknown")
    return "" if reason.startswith(KNOWN_END) else f"not requeued yet: {reason}"


def is_on_hold(workload: dict[str, Any]) -> bool:
    """Return whether a Workload is on hold: its job is scaled to no pods for now, or refused by its own controller."""
    reserved = find(workload, QUOTA_RESERVED) or {}
    return (reserved.get("status"), reserved.get("reason")) == ("False", ON_HOLD)


def _unsupported(obj: Object, annotations: Mapping[str, str], gates: Mapping[str, bool]) -> str:
    return annotations.get(UNSUPPORTED, "") or unsupported.reason_of_workload(obj, gates)


def _gated(annotations: Mapping[str, str], settings: QueueSettings) -> str:
    gate = annotations.get(GATE)
    return f"gated by {gate}" if gate and settings.enabled("AdmissionGatedBy", default=True) else ""
