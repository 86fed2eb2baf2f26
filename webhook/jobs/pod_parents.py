"""Kinds whose pods are admitted together: those of a StatefulSet, and of each group of a LeaderWorkerSet. Pure.

The group is known before its pods exist, so its Workload is created from the parent object; each pod gets its group's
metadata once it exists. The names of labels and annotations are Kueue's. A Deployment's pods are queued one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.jobs.counts import number
from webhook.jobs.elastic import annotation
from webhook.jobs.job import Job, JobPodSet
from webhook.jobs.owners import controller_of
from webhook.jobs.pod_groups import FAST, GROUP, ROLE, SERVING, TOTAL, group_of
from webhook.jobs.read_job import MARK, PREBUILT, PRIORITY, QUEUE
from webhook.kube.fields import at
from webhook.kube.gvk import POD, gvk_of

PARENT: Final = "kueue.x-k8s.io/pod-suspending-parent"
"""Annotation of a pod: the kind of its parent, as in `integrations.frameworks`."""
REVISION: Final = "controller-revision-hash"
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_LEADER: Final = "leaderworkerset.sigs.k8s.io/leader-name"
"""Annotation of a worker: the name of its leader's pod."""
_MAIN: Final = "main"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods of one parent that are admitted together. `index` identifies the group, "" if there is only one."""

    index: str
    pod_sets: tuple[JobPodSet, ...]


@dataclass(frozen=True, slots=True)
class Parent:
    """How the pods of a kind are grouped: functions for the groups, and a pod's parent name, group index and role."""

    groups: Callable[[Object, Job], tuple[PodGroup, ...]]
    name_of: Callable[[Object], str]
    index_of: Callable[[Object], str | None]
    role_of: Callable[[Object, Object], str]
    fast: bool


def parent_of(pod: Object) -> tuple[str, str] | None:
    """Return kind and name of a pod's parent, None if it has none, or is no pod: anybody may annotate a job."""
    kind = _KIND_OF.get(annotation(pod, PARENT)) if gvk_of(pod) == POD else None
    name = _PARENTS[kind].name_of(pod) if kind else ""
    return (kind, name) if kind and name else None


def framework_of(obj: Object, described: Job) -> str:
    """Return the framework that integrates an object; for a Pod with a parent, that of the parent."""
    return (annotation(obj, PARENT) if described.kind.gate else "") or described.kind.framework


def groups_of(parent: Object, described: Job) -> tuple[PodGroup, ...]:
    """Return the groups that an object currently has."""
    return _PARENTS[parent["kind"]].groups(parent, described)


def is_shaped(parent: Object, described: Job) -> bool:
    """Return whether all templates of an object name it as the parent, as the policy suspend-serving sets it."""
    return all(annotation(pods.template, PARENT) == described.kind.framework for pods in described.pod_sets)


def joined(pod: Object, parent: Object, described: Job, named: Callable[[str], str]) -> Object:
    """Return the metadata to merge into a pod so that it joins its group; empty if it has joined.

    `named` returns the name of a group's Workload by the group's index.
    """
    how = _PARENTS[parent["kind"]]
    index = how.index_of(pod)
    if index is None:
        return {}
    queue = {QUEUE: described.queue} if described.queue else {}
    if group_of(pod):
        moved = queue and (at(pod, ("metadata", "labels")) or {}).get(QUEUE) != described.queue
        return {"labels": queue} if moved else {}
    size = sum(pods.count for pods in next((g.pod_sets for g in groups_of(parent, described) if g.index == index), ()))
    labels = {MARK: "true", **queue, **({PRIORITY: described.priority_class} if described.priority_class else {})}
    annotations = {
        GROUP: named(index),
        PREBUILT: named(index),
        TOTAL: str(size),
        SERVING: "true",
        ROLE: how.role_of(pod, parent),
        **({FAST: "true"} if how.fast else {}),
    }
    return {"labels": labels, "annotations": annotations}


def is_left(pod: Object, parent: Object) -> bool:
    """Return whether a pod is of the old revision during a roll-out, which waits for it to be replaced."""
    status = parent.get("status") or {}
    old, new = status.get("currentRevision"), status.get("updateRevision")
    return old != new and bool(old) and (at(pod, ("metadata", "labels")) or {}).get(REVISION) == old


def _of_stateful_set(parent: Object, described: Job) -> tuple[PodGroup, ...]:
    return (PodGroup("", described.pod_sets),) if number(parent.get("spec"), "replicas") else ()


def _owner(pod: Object) -> str:
    reference = controller_of(pod) or {}
    of_apps = str(reference.get("apiVersion") or "").startswith("apps/")
    return str(reference.get("name") or "") if of_apps and reference.get("kind") == "StatefulSet" else ""


def _of_leader_worker_set(parent: Object, described: Job) -> tuple[PodGroup, ...]:
    """Return a group for each replica, including those added during a roll-out (maxSurge)."""
    spec, status = parent.get("spec") or {}, parent.get("status") or {}
    replicas = number(spec, "replicas")
    surge = at(spec, ("rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"))
    if surge and number(status, "updatedReplicas", 0) < replicas:
        replicas = max(replicas, number(status, "replicas", 0))
    size = number(spec.get("leaderWorkerTemplate"), "size")
    sets = described.pod_sets
    if len(sets) == 1:
        each: tuple[JobPodSet, ...] = (replace(sets[0], name=_MAIN, count=size),)
    else:
        each = tuple(replace(pods, count=1 if pods.name == "leader" else max(0, size - 1)) for pods in sets)
    return tuple(PodGroup(str(index), each) for index in range(replicas))


def _role_in_set(pod: Object, parent: Object) -> str:
    if not at(parent, ("spec", "leaderWorkerTemplate", "leaderTemplate")):
        return _MAIN
    return "worker" if annotation(pod, LWS_LEADER) else "leader"


def _label(name: str) -> Callable[[Object], str | None]:
    return lambda pod: (at(pod, ("metadata", "labels")) or {}).get(name)


_PARENTS: Final = {
    "StatefulSet": Parent(_of_stateful_set, _owner, lambda pod: "", lambda pod, parent: _MAIN, fast=True),
    "LeaderWorkerSet": Parent(
        _of_leader_worker_set,
        lambda pod: str(_label(LWS_NAME)(pod) or ""),
        _label(LWS_INDEX),
        _role_in_set,
        fast=False,
    ),
}
_KIND_OF: Final = {"statefulset": "StatefulSet", "leaderworkerset.x-k8s.io/leaderworkerset": "LeaderWorkerSet"}
