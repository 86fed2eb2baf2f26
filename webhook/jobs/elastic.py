"""Elastic jobs: their number of pods may change while they run; one Workload replaces another (KEP 77)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from webhook.jobs.counts import ray_workers
from webhook.jobs.job import Job
from webhook.jobs.read_job import row_of
from webhook.kube.fields import at

ELASTIC: Final = "kueue.x-k8s.io/elastic-job"
"""The annotation that makes a job elastic ("true"), and the scheduling gate of its pods."""
SLICE: Final = "kueue.x-k8s.io/workload-slice-name"
"""Annotation of its Workloads and pods: the name of the first Workload of the chain."""
REPLACES: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
"""Annotation of a Workload: the `namespace/name` of the one that it replaces once admitted."""
POD_SET: Final = "kueue.x-k8s.io/podset"
"""Label of a pod: its pod set."""

Object = dict[str, Any]


def is_elastic(job: Object) -> bool:
    """Return whether a job may change its size while it runs: it has the annotation, and its kind supports it."""
    row = row_of(job)
    return row is not None and row.elastic and annotation(job, ELASTIC) == "true"


def scaled(described: Job, cluster: Object) -> Job:
    """Return a job with the worker counts of its RayCluster, which an autoscaler may have changed.

    A group without `replicas` there keeps the job's count.
    """
    groups = {str(group.get("groupName")).lower(): group for group in at(cluster, ("spec", "workerGroupSpecs")) or ()}
    sets = tuple(
        replace(pods, count=ray_workers([group]))
        if (group := groups.get(pods.name)) is not None and group.get("replicas") is not None
        else pods
        for pods in described.pod_sets
    )
    return replace(described, pod_sets=sets, scaled=str(at(cluster, ("metadata", "generation")) or ""))


def annotation(obj: Object, name: str) -> str:
    """Return an annotation, "" if there is none."""
    return str((at(obj, ("metadata", "annotations")) or {}).get(name) or "")


def is_gated(pod: Object) -> bool:
    """Return whether a pod has the scheduling gate of elastic jobs."""
    return any(isinstance(g, dict) and g.get("name") == ELASTIC for g in at(pod, ("spec", "schedulingGates")) or ())


def without_gate(pod: Object) -> Object:
    """Return the pod without the gate of elastic jobs; other gates are kept."""
    rest = [gate for gate in pod["spec"]["schedulingGates"] if gate.get("name") != ELASTIC]
    spec = {name: value for name, value in pod["spec"].items() if name != "schedulingGates"}
    return {**pod, "spec": {**spec, "schedulingGates": rest} if rest else spec}
