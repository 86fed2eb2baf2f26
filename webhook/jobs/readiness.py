"""Whether all pods of a job are ready or have succeeded, by the job's own status: one function per kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.jobs.counts import number
from webhook.jobs.job import Job
from webhook.kube.condition_types import PODS_READY
from webhook.kube.conditions import holds
from webhook.kube.fields import at

_RUNNING: Final = "Running"
"""The condition of the kubeflow kinds for all replicas running."""


def pods_ready(job: dict[str, Any], described: Job) -> bool:
    """Return whether all pods of a job are ready or have succeeded; for other kinds, its condition `Ready`."""
    rule = _RULES.get(described.kind.kind)
    if rule is not None:
        return rule(job, described)
    if described.kind.group == "kubeflow.org":
        return holds(job, _RUNNING)
    return holds(job, "Ready")


def _job(job: dict[str, Any], described: Job) -> bool:
    status = at(job, ("status",)) or {}
    uncounted = at(job, ("status", "uncountedTerminatedPods", "succeeded"))
    done = number(status, "succeeded", 0) + (len(uncounted) if isinstance(uncounted, list) else 0)
    return number(status, "ready", 0) + done >= sum(pods.count for pods in described.pod_sets)


def _job_set(job: dict[str, Any], described: Job) -> bool:
    wanted = at(job, ("spec", "replicatedJobs")) or ()
    statuses = at(job, ("status", "replicatedJobsStatus")) or ()
    return _sum(wanted, "replicas", default=1) == _sum(statuses, "ready") + _sum(statuses, "succeeded")


def _train_job(job: dict[str, Any], described: Job) -> bool:
    statuses = at(job, ("status", "jobsStatus")) or ()
    return bool(statuses) and _sum(statuses, "ready") + _sum(statuses, "succeeded") == sum(
        pods.jobs for pods in described.pod_sets
    )


def _ray_cluster(job: dict[str, Any], described: Job) -> bool:
    return bool(at(job, ("status", "state")) == "ready")


def _ray_job(job: dict[str, Any], described: Job) -> bool:
    return bool(at(job, ("status", "rayClusterStatus", "state")) == "ready")


def _app_wrapper(job: dict[str, Any], described: Job) -> bool:
    return holds(job, PODS_READY)


def _spark(job: dict[str, Any], described: Job) -> bool:
    if at(job, ("status", "applicationState", "state")) != "RUNNING":
        return False
    executors = at(job, ("status", "executorState")) or {}
    running = sum(state in ("RUNNING", "COMPLETED") for state in executors.values())
    return running >= number(at(job, ("spec", "executor")), "instances", 0)


def _sum(rows: Any, field: str, default: int = 0) -> int:
    return sum(number(row, field, default) for row in rows)


_RULES: Final[dict[str, Callable[[dict[str, Any], Job], bool]]] = {
    "Job": _job,
    "JobSet": _job_set,
    "TrainJob": _train_job,
    "RayCluster": _ray_cluster,
    "RayJob": _ray_job,
    "AppWrapper": _app_wrapper,
    "SparkApplication": _spark,
}
