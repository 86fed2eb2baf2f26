"""Makes the Workload object of a job, for the cluster, `plan` and `make run` alike.

`jobs.read_job` gives the pod sets of a job; the queue core decides about the Workload.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.compatibility import unsupported
from webhook.api.requests import with_defaults
from webhook.jobs.job import Job, JobPodSet
from webhook.kube.well_known import KUEUE

API_VERSION: Final = "kueue.x-k8s.io/v1beta2"
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"
MAX_TIME_LABEL: Final = "kueue.x-k8s.io/max-exec-time-seconds"
UNSUPPORTED: Final = "sluice.dev/unsupported"
"""An annotation of a Workload: what of its job's spec is not supported, and a Workload has no field for."""
STOPPED: Final = "sluice.dev/stopped"
"""An annotation of a job that was stopped: when its Workload was evicted or deleted, which does not carry it.

A gated Pod has a condition of this type, whose message says it.
"""
CARRIED: Final = ("sluice.dev/", "kueue.x-k8s.io/", "provreq.kueue.x-k8s.io/")
NAME_LIMIT: Final = 253
HASH_LENGTH: Final = 5
_HASH: Final = re.compile(f"[0-9a-f]{{{HASH_LENGTH}}}")
MAX_INT32: Final = 2**31 - 1
_STRUCTS: Final = ("affinity", "dnsConfig", "securityContext")
"""Of a pod spec: what says something though it is empty."""
WORKLOAD_CLASS: Final = (KUEUE, "WorkloadPriorityClass")
POD_CLASS: Final = ("scheduling.k8s.io", "PriorityClass")


@dataclass(frozen=True, slots=True)
class Priority:
    """A number, and the class it came from: `ref` is (API group, kind, name), None where there was no class."""

    value: int = 0
    ref: tuple[str, str, str] | None = None


def priority_of(job: Job, classes: Iterable[Mapping[str, Any]]) -> Priority:
    """Return the job's priority from WorkloadPriorityClass and PriorityClass objects.

    The job's own WorkloadPriorityClass goes before the PriorityClass of its pods; without either it is the
    PriorityClass marked `globalDefault`, else 0. A class that is not there counts as 0, without a reference.
    """
    by_name = {(c.get("kind"), c["metadata"]["name"]): c for c in classes}
    if job.priority_class:
        return _priority(by_name, WORKLOAD_CLASS, job.priority_class)
    if job.pod_priority_class:
        return _priority(by_name, POD_CLASS, job.pod_priority_class)
    default = next(
        (c for (kind, _), c in sorted(by_name.items()) if kind == POD_CLASS[1] and c.get("globalDefault")), None
    )
    return _priority(by_name, POD_CLASS, default["metadata"]["name"]) if default else Priority()


def workload_name(kind: str, group: str, name: str, uid: str, *, generation: str = "") -> str:
    """Name the Workload of a job as Kueue does, so that its clients and dashboards find it.

    `<kind>-<name>-<hash>`, at most 253 letters; the hash tells namesakes apart, and keeps no secret. An elastic job has
    a Workload for each of its generations.
    """
    parts = (kind, group, name, uid, *((generation,) if generation else ()))
    digest = hashlib.sha1("\n".join(parts).encode(), usedforsecurity=False).hexdigest()
    return f"{_prefix(kind, name)}-{digest[:HASH_LENGTH]}"


def is_named_after(workload: str, job: str) -> bool:
    """Return whether the name of a Workload is one that a job of this name gets, of whatever kind."""
    prefix, _, digest = workload.rpartition("-")
    return bool(_HASH.fullmatch(digest)) and prefix == _prefix(prefix.partition("-")[0], job)


def _prefix(kind: str, name: str) -> str:
    return f"{kind.lower()}-{name}"[: NAME_LIMIT - 1 - HASH_LENGTH]


def workload_of(
    obj: Mapping[str, Any],
    job: Job,
    priority: Priority | None = None,
    limit_ranges: Iterable[Mapping[str, Any]] = (),
    label_keys: Collection[str] | None = None,
) -> dict[str, Any]:
    """Build the Workload of a job object, without a status.

    `job` is `jobs.read_job(obj)`; `limit_ranges` are those of the object's namespace. The Workload is owned by the
    job and carries its creation time (for files, where nothing else gives one), its labels, its annotations of
    `sluice.dev/` and of Kueue, and a template per pod set with the requests that the API server would fill in. Where
    `label_keys` are given, of the labels only those and Sluice's and Kueue's own. Equal input gives an equal Workload.
    """
    metadata = obj["metadata"]
    kind, group = obj["kind"], obj["apiVersion"].rpartition("/")[0]
    uid = str(metadata.get("uid") or "")
    ranges = tuple(limit_ranges)
    workload: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": workload_name(kind, group, metadata["name"], uid),
            "namespace": metadata.get("namespace") or "default",
            **_carried(obj, label_keys),
            **({"ownerReferences": [owner_reference(obj)]} if uid else {}),
        },
        "spec": {
            "podSets": [_pod_set(p, ranges) for p in job.pod_sets],
            **({"queueName": job.queue} if job.queue else {}),
            "active": True,
            **priority_fields(priority or Priority()),
            **_time_limit(metadata.get("labels") or {}),
        },
    }
    if created := metadata.get("creationTimestamp"):
        workload["metadata"]["creationTimestamp"] = created
    return workload


def with_spec_of(draft: Mapping[str, Any], workload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Workload with the spec that its job would get now: that of `draft`.

    `active` stays as it is: somebody who deactivated the Workload said it, not the job. Source: prepareWorkload in
    Kueue's pkg/controller/jobframework/reconciler.go.
    """
    return {**workload, "spec": {**draft["spec"], "active": workload["spec"].get("active", True)}}


def _priority(by_name: Mapping[Any, Mapping[str, Any]], kind: tuple[str, str], name: str) -> Priority:
    found = by_name.get((kind[1], name))
    return Priority(int(found.get("value") or 0), (*kind, name)) if found else Priority()


def _carried(obj: Mapping[str, Any], label_keys: Collection[str] | None) -> dict[str, Any]:
    """Return what rules may look at: the job's labels, its annotations of `sluice.dev/` and of Kueue; and its UID."""
    metadata = obj["metadata"]
    labels = dict(metadata.get("labels") or {})
    if label_keys is not None:
        labels = {k: v for k, v in labels.items() if k in label_keys or k.startswith(CARRIED)}
    if uid := metadata.get("uid"):
        labels[JOB_UID_LABEL] = str(uid)
    annotations = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if k.startswith(CARRIED) and k != STOPPED
    }
    if reason := unsupported.reason("job", {"spec": obj.get("spec")}):
        annotations[UNSUPPORTED] = reason
    return {**({"labels": labels} if labels else {}), **({"annotations": annotations} if annotations else {})}


def owner_reference(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reference by which a Workload names its job as its controller."""
    return {**shared_reference(obj), "controller": True, "blockOwnerDeletion": True}


def shared_reference(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reference to one owner among others, of which none is the controller."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": str(obj["metadata"].get("uid") or ""),
    }


def _pod_set(pods: JobPodSet, limit_ranges: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    metadata = pods.template.get("metadata") or {}
    kept = {k: metadata[k] for k in ("labels", "annotations") if metadata.get(k)}
    spec = _as_go_writes(with_defaults(pods.template.get("spec") or {}, limit_ranges))
    pod_set: dict[str, Any] = {"name": pods.name, "count": pods.count, "template": {"metadata": kept, "spec": spec}}
    if pods.min_count is not None:
        pod_set["minCount"] = pods.min_count
    return pod_set


def _as_go_writes(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a pod spec as a client in Go writes it back: with the structs that it never leaves out, and no empty list.

    Else what such a client updates (to take a finalizer off) would be another spec, which may not change with quota.
    """
    kept = {name: value for name, value in spec.items() if value not in (None, [], {}) or name in _STRUCTS}
    for field in ("initContainers", "containers"):
        if field in kept:
            kept[field] = [{**container, "resources": container.get("resources") or {}} for container in kept[field]]
    return kept


def priority_fields(priority: Priority) -> dict[str, Any]:
    """Return a priority as fields of a Workload's spec."""
    if priority.ref is None:
        return {"priority": priority.value}
    group, kind, name = priority.ref
    return {"priority": priority.value, "priorityClassRef": {"group": group, "kind": kind, "name": name}}


def _time_limit(labels: Mapping[str, str]) -> dict[str, int]:
    """Read the label `kueue.x-k8s.io/max-exec-time-seconds`; anything but a positive whole number counts as none."""
    text = labels.get(MAX_TIME_LABEL, "").lstrip("0")
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
    return {"maximumExecutionTimeSeconds": seconds} if 0 < seconds <= MAX_INT32 else {}
