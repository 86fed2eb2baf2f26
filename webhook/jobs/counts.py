"""Pod counts of templates: one function per rule of the kinds' controllers. Invalid numbers count as the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.jobs.job import Nodes


def number(holder: Any, field: str, default: int = 1) -> int:
    """Return a field if it is a whole number from 0, else the default."""
    value = holder.get(field) if isinstance(holder, dict) else None
    if isinstance(value, float) and value.is_integer():  # kubectl sends 64.0 as 64
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def one(nodes: Nodes) -> int:
    """Return 1: the template makes one pod."""
    return 1


def field(name: str, default: int = 1) -> Callable[[Nodes], int]:
    """Return a rule that reads a field of the node with the template."""
    return lambda nodes: number(nodes[-1], name, default)


def of_job_spec(spec: Any) -> int:
    """Return the number of pods of a batch/v1 JobSpec that run at once: parallelism, at most completions."""
    parallelism = number(spec, "parallelism")
    return min(parallelism, number(spec, "completions", parallelism))


def job(nodes: Nodes) -> int:
    """Return the number of pods of the JobSpec with the template."""
    return of_job_spec(nodes[-1])


def replicated_job(nodes: Nodes) -> int:
    """Return the number of pods of a JobSet's replicated job: replicas times the pods of one Job."""
    return number(nodes[-3], "replicas") * of_job_spec(nodes[-1])


def ray_workers(nodes: Nodes) -> int:
    """Return the number of pods of a Ray worker group: replicas times hosts of each."""
    return number(nodes[-1], "replicas") * max(number(nodes[-1], "numOfHosts"), 1)


def ray_submitter(nodes: Nodes) -> int:
    """Return the number of a RayJob's submitter pods: only the default mode, K8sJobMode, has one."""
    return 1 if nodes[-1].get("submissionMode", "K8sJobMode") == "K8sJobMode" else 0


def group_leaders(nodes: Nodes) -> int:
    """Return the number of leaders of a LeaderWorkerSet: one for each group."""
    return number(nodes[-2], "replicas")


def group_workers(nodes: Nodes) -> int:
    """Return the number of workers of a LeaderWorkerSet: its groups' sizes, less leaders with their own template."""
    groups, size = number(nodes[-2], "replicas"), number(nodes[-1], "size")
    return groups * (max(size - 1, 0) if nodes[-1].get("leaderTemplate") else size)


def trainer(nodes: Nodes) -> int:
    """Return the number of a TrainJob's nodes."""
    return number(nodes[-1].get("trainer"), "numNodes")


def spark_executors(nodes: Nodes) -> int:
    """Return the number of a SparkApplication's executors; 0 by default."""
    return number(nodes[-1].get("executor"), "instances", 0)
