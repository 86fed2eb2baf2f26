"""Reclaimable pods: those of a running job that have ended, so that their quota is free (KEP 78).

By the job's own status.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.jobs import counts
from webhook.jobs.job import Job
from webhook.kube.fields import at


def reclaimable(obj: dict[str, Any], described: Job) -> dict[str, int] | None:
    """Return the number of pods that no longer need quota, by pod set; without pod sets that have none.

    Never more than the pod set has. None if the kind has no rule here: others may report them.
    """
    kind = (described.kind.group, described.kind.kind)
    if kind == ("batch", "Job"):
        over = {"main": _of_job(obj)}
    elif kind == ("jobset.x-k8s.io", "JobSet"):
        over = dict(_of_jobset(obj))
    elif kind == ("trainer.kubeflow.org", "TrainJob"):
        over = dict(_of_train_job(obj, described))
    else:
        return None
    most = {pods.name: pods.count for pods in described.pod_sets}
    return {name: least for name, count in over.items() if (least := min(count, most.get(name, 0))) > 0}


def _of_job(obj: dict[str, Any]) -> int:
    """Return the unused slots of a Job: its parallelism, less the remaining completions."""
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
    """Return the indexes below `limit` of a text like `0-2,5`; it may include indexes from before a resize."""
    indexes: set[int] = set()
    for part in text.split(",") if isinstance(text, str) else ():
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            indexes.update(range(int(first), min(int(last or first) + 1, limit)))
    return indexes


def _of_train_job(obj: dict[str, Any], described: Job) -> Iterator[tuple[str, int]]:
    statuses = at(obj, ("status", "jobsStatus"))
    ended = {s.get("name"): counts.number(s, "succeeded", 0) for s in statuses or () if isinstance(s, dict)}
    for pods in described.pod_sets:
        if 0 < (over := ended.get(pods.name, 0)) <= pods.jobs:
            yield pods.name, over * (pods.count // pods.jobs)


def _of_jobset(obj: dict[str, Any]) -> Iterator[tuple[str, int]]:
    statuses = at(obj, ("status", "replicatedJobsStatus"))
    ended = {s.get("name"): counts.number(s, "succeeded", 0) for s in statuses or () if isinstance(s, dict)}
    for replicated in at(obj, ("spec", "replicatedJobs")) or ():
        over = ended.get(replicated.get("name"), 0)
        if over <= counts.number(replicated, "replicas"):
            yield str(replicated.get("name")), over * counts.of_job_spec(at(replicated, ("template", "spec")))
