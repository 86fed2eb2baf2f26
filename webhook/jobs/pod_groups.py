"""Plain pods that start together: a group by name, its pods by role. Pure.

The names of labels and annotations are Kueue's. A role is what the queue sees of a pod: its requests and where it may
run; the pods of one role are one pod set.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from webhook.jobs.describe import at, describe, suspended
from webhook.jobs.elastic import POD_SET, annotation
from webhook.jobs.job import Job, JobPodSet

GROUP: Final = "kueue.x-k8s.io/pod-group-name"
TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
FAST: Final = "kueue.x-k8s.io/pod-group-fast-admission"
"""The annotation, "true", of a group that is queued as soon as its first pod is there."""
RETRIABLE: Final = "kueue.x-k8s.io/retriable-in-group"
"""The annotation, "false", of a pod whose end is the end of its group: no other replaces it."""
_SHAPE: Final = ("nodeSelector", "affinity", "tolerations", "priorityClassName", "runtimeClassName", "overhead")

Object = dict[str, Any]


def group_of(obj: Object) -> str:
    """Name the group that a pod belongs to, "" where it is no pod or belongs to none."""
    if (obj.get("apiVersion"), obj.get("kind")) != ("v1", "Pod"):
        return ""
    return str((at(obj, ("metadata", "labels")) or {}).get(GROUP) or annotation(obj, GROUP))


def role_of(pod: Object) -> str:
    """Name the pod set of a pod: as it was let go, else by its shape."""
    row = describe(pod)
    marked = str((at(pod, ("metadata", "labels")) or {}).get(POD_SET) or "")
    if marked and row is not None and not suspended(pod, row.kind):
        return marked
    spec = pod.get("spec") or {}
    containers = [
        [(c.get("name"), c.get("resources")) for c in spec.get(field) or () if isinstance(c, dict)]
        for field in ("initContainers", "containers")
    ]
    shape = containers, [spec.get(field) or None for field in _SHAPE]
    return hashlib.sha256(orjson.dumps(shape, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]


def as_one_job(pods: Sequence[Object]) -> Job | None:
    """Read a group as a job, None while it is not complete. `pods` are those of one group, the oldest first.

    All pods must name one queue and one total. With fast admission those that are missing count as of the first role.
    """
    first = describe(pods[0]) if pods else None
    totals, alive = {annotation(pod, TOTAL) for pod in pods}, [pod for pod in pods if phase_of(pod) != "Failed"]
    if first is None or not alive or len(totals) != 1 or not (text := next(iter(totals))).isdecimal():
        return None
    if {(row.queue if (row := describe(pod)) else None) for pod in pods} != {first.queue}:
        return None
    total, fast = int(text), annotation(pods[0], FAST) == "true"
    if not total or (len(alive) < total and not fast):
        return None
    counts = Counter(role_of(pod) for pod in alive[:total])
    counts[role_of(alive[0])] += max(0, total - len(alive))
    templates = {role_of(pod): pod for pod in reversed(alive[:total])}
    sets = tuple(JobPodSet(role, counts[role], templates[role], ()) for role in sorted(counts))
    return replace(first, pod_sets=sets)


def of_role(pod: Object, described: Job) -> Job:
    """Give one pod of a group, its pod set named by its role."""
    return replace(described, pod_sets=tuple(replace(pods, name=role_of(pod)) for pods in described.pod_sets))


def phase_of(pod: Object) -> str:
    """Give the phase of a pod."""
    return str(at(pod, ("status", "phase")) or "")
