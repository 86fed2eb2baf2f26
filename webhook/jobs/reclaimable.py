"""Pods of a running job that have ended for good, so that their quota is free (KEP 78). By the job's own status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.jobs import counts
from webhook.jobs.describe import at
from webhook.jobs.job import Job


def reclaimable(obj: dict[str, Any], described: Job) -> dict[str, int] | None:
    """Give the number of pods that need no quota any more, by pod set; pod sets without such pods are left out.

    Never more than the pod set has. None where the kind's status does not tell: somebody else may know.
    """
    kind = (described.kind.group, described.kind.kind)
    if kind == ("batch", "Job"):
        found = {"main": _of_job(obj)}
    elif kind == ("jobset.x-k8s.io", "JobSet"):
        found = dict(_of_jobset(obj))
    elif kind == ("trainer.kubeflow.org", "TrainJob"):
        found = dict(_of_train_job(obj, described))
    else:
        return None
    most = {pods.name: pods.count for pods in described.pod_sets}
    return {name: least for name, count in found.items() if (least := min(count, most.get(name, 0))) > 0}


def _of_job(obj: dict[str, Any]) -> int:
    """Count the slots of a Job that nothing is left for: parallelism, less what is still to complete."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    parallelism = counts.number(spec, "parallelism")
    completions = counts.number(spec, "completions", parallelism)
    if spec.get("completionMode") == "Indexed":
        ended = _indexes(status.get("completedIndexes"), completions) | _indexes(
            status.get("failedIndexes"), completions
        )
        over = len(ended)
    else:
        over = counts.number(status, "succeeded", 0)
    if parallelism <= 1 or not over:
        return 0
    return max(0, parallelism - max(0, completions - over))


def _indexes(text: Any, limit: int) -> set[int]:
    """Read `0-2,5`, the indexes below `limit`: what a Job lost when it was made smaller may still be named."""
    found: set[int] = set()
    for part in text.split(",") if isinstance(text, str) else ():
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first) + 1, limit)))
    return found


def _of_train_job(obj: dict[str, Any], described: Job) -> Iterator[tuple[str, int]]:
    statuses = at(obj, ("status", "jobsStatus"))
    ended = {s.get("name"): counts.number(s, "succeeded", 0) for s in statuses or () if isinstance(s, dict)}
    for pods in described.pod_sets:
        if (over := ended.get(pods.name, 0)) <= pods.jobs:
            yield pods.name, over * (pods.count // pods.jobs)


def _of_jobset(obj: dict[str, Any]) -> Iterator[tuple[str, int]]:
    statuses = at(obj, ("status", "replicatedJobsStatus"))
    ended = {s.get("name"): counts.number(s, "succeeded", 0) for s in statuses or () if isinstance(s, dict)}
    for replicated in at(obj, ("spec", "replicatedJobs")) or ():
        over = ended.get(replicated.get("name"), 0)
        if over <= counts.number(replicated, "replicas"):
            yield str(replicated.get("name")), over * counts.of_job_spec(at(replicated, ("template", "spec")))
