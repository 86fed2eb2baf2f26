"""Groups of plain pods that start together: a group by name, its pods by role. Pure.

The names of labels and annotations are Kueue's. A role is what matters of a pod to the queue: its requests and its
scheduling constraints; the pods of one role are one pod set.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from webhook.jobs.elastic import annotation
from webhook.jobs.job import Job, JobPodSet
from webhook.jobs.read_job import POD_FINALIZER, read_job, suspended
from webhook.kube.conditions import holds
from webhook.kube.fields import at

GROUP: Final = "kueue.x-k8s.io/pod-group-name"
TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
FAST: Final = "kueue.x-k8s.io/pod-group-fast-admission"
"""Annotation of a group that is queued as soon as its first pod exists ("true")."""
SERVING: Final = "kueue.x-k8s.io/pod-group-serving"
"""Annotation of a serving group ("true"): it never finishes, and pods that end are replaced."""
RETRIABLE: Final = "kueue.x-k8s.io/retriable-in-group"
"""Annotation of a pod whose end is the end of its group ("false"): it is not replaced."""
ROLE: Final = "kueue.x-k8s.io/role-hash"
"""Annotation of a pod with its role: the flavors of its group change its shape."""

Object = dict[str, Any]


def group_of(obj: Object) -> str:
    """Return the name of a pod's group, "" if it is not a pod or in no group."""
    if (obj.get("apiVersion"), obj.get("kind")) != ("v1", "Pod"):
        return ""
    return annotation(obj, GROUP) or str((at(obj, ("metadata", "labels")) or {}).get(GROUP) or "")


def role_of(pod: Object) -> str:
    """Return the name of a pod's pod set: its annotation, else a hash of its shape as in Kueue."""
    if named := annotation(pod, ROLE):
        return named
    spec = pod.get("spec") or {}
    shape = {
        "affinity": spec.get("affinity"),
        "containers": _containers(spec.get("containers")),
        "initContainers": _containers(spec.get("initContainers")),
        "nodeSelector": _sorted(spec.get("nodeSelector")),
        "overhead": _sorted(spec.get("overhead")),
        "priority": spec.get("priority"),
        "resourceClaims": spec.get("resourceClaims"),
        **({"resources": _sorted(spec["resources"].get("requests"))} if spec.get("resources") else {}),
        "runtimeClassName": spec.get("runtimeClassName"),
        "tolerations": spec.get("tolerations"),
        "topologySpreadConstraints": spec.get("topologySpreadConstraints"),
    }
    return hashlib.sha256(orjson.dumps({"spec": shape})).hexdigest()[:8]


def _containers(rows: Any) -> list[Object] | None:
    return [
        {"ports": row.get("ports"), "resources": {"requests": _sorted((row.get("resources") or {}).get("requests"))}}
        for row in rows or ()
        if isinstance(row, dict)
    ] or None


def _sorted(values: Any) -> Object | None:
    return dict(sorted(values.items())) if values else None


def as_one_job(pods: Sequence[Object]) -> Job | None:
    """Read the pods of a group, the oldest first, as a job; None while the group is not complete.

    All pods that have not failed must have the same queue and total. With fast admission, missing pods count as of the
    first role. A group with a prebuilt Workload belongs to that Workload.
    """
    stay = staying(pod for pod in pods if may_run(pod))
    first, total = (read_job(stay[0]) if stay else None), total_of(pods)
    if first is None or not total or (len(stay) < total and not says(stay, FAST)):
        return None
    if {(row.queue if (row := read_job(pod)) else None) for pod in stay} != {first.queue}:
        return None
    roles = [role_of(pod) for pod in stay[:total]]
    counts = Counter(roles)
    counts[roles[0]] += total - len(roles)
    templates = dict(zip(reversed(roles), reversed(stay[:total]), strict=True))
    sets = tuple(JobPodSet(role, counts[role], templates[role], ()) for role in sorted(counts))
    return replace(first, pod_sets=sets)


def total_of(pods: Iterable[Object]) -> int:
    """Return the total of a group by its annotations, 0 if its pods disagree."""
    totals = {annotation(pod, TOTAL) for pod in pods if phase_of(pod) != "Failed"}
    text = totals.pop() if len(totals) == 1 else ""
    return int(text) if text.isdecimal() else 0


def agreed(pods: Sequence[Object]) -> Object:
    """Return the first pod with the labels and annotations of all pods, without those that differ."""
    merged = {
        field: {
            key: value
            for pod in pods
            for key, value in (at(pod, ("metadata", field)) or {}).items()
            if all((at(other, ("metadata", field)) or {}).get(key, value) == value for other in pods)
        }
        for field in ("labels", "annotations")
    }
    return {**pods[0], "metadata": {**pods[0]["metadata"], **merged}}


def of_role(pod: Object, described: Job) -> Job:
    """Return a pod of a group as a job, its pod set named by its role."""
    return replace(described, pod_sets=tuple(replace(pods, name=role_of(pod)) for pods in described.pod_sets))


def staying(pods: Iterable[Object]) -> list[Object]:
    """Return pods in the order in which they are kept if there are too many: tracked, running, older ones first."""
    return sorted(pods, key=lambda pod: (not is_tracked(pod), waits(pod), _age(pod)))


def by_age(pods: Iterable[Object]) -> list[Object]:
    """Return pods, the oldest first."""
    return sorted(pods, key=_age)


def says(pods: Sequence[Object], name: str) -> bool:
    """Return whether the first pod of a group has an annotation with the value "true"."""
    return bool(pods) and annotation(pods[0], name) == "true"


def may_run(pod: Object) -> bool:
    """Return whether a pod is running, may still run, or has succeeded; not if deleted before it had a node."""
    lost = bool(at(pod, ("metadata", "deletionTimestamp"))) and not at(pod, ("spec", "nodeName"))
    return phase_of(pod) != "Failed" and not lost


def is_running(pod: Object) -> bool:
    """Return whether a pod occupies a node; a terminating one does until it has ended."""
    return not is_over(pod) and (phase_of(pod) == "Running" or bool(at(pod, ("spec", "nodeName"))))


def is_over(pod: Object) -> bool:
    """Return whether a pod has ended."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_ready(pods: Sequence[Object]) -> bool:
    """Return whether all pods of a group exist, and each is ready or has succeeded."""
    enough = len(pods) >= max(1, total_of(pods))
    return enough and all(holds(pod, "Ready") or phase_of(pod) == "Succeeded" for pod in pods)


def waits(pod: Object) -> bool:
    """Return whether a pod is held by our gate."""
    described = read_job(pod)
    return described is not None and bool(suspended(pod, described.kind))


def is_tracked(pod: Object) -> bool:
    """Return whether a pod has our finalizer, which keeps it until the queue has counted its end."""
    return POD_FINALIZER in (at(pod, ("metadata", "finalizers")) or ())


def phase_of(pod: Object) -> str:
    """Return the phase of a pod."""
    return str(at(pod, ("status", "phase")) or "")


def _age(pod: Object) -> tuple[str, str]:
    metadata = pod.get("metadata") or {}
    return str(metadata.get("creationTimestamp") or ""), str(metadata.get("name") or "")
