"""How many pods a template makes: one function per rule of the kinds' controllers. Bad numbers count as the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.jobs.job import Nodes


def number(holder: Any, field: str, default: int = 1) -> int:
    """Give a field that should be a whole number not below 0, else the default."""
    value = holder.get(field) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def one(nodes: Nodes) -> int:
    """Count a template of which there is one pod."""
    return 1


def field(name: str, default: int = 1) -> Callable[[Nodes], int]:
    """Count by a field of the node that holds the template."""
    return lambda nodes: number(nodes[-1], name, default)


def of_job_spec(spec: Any) -> int:
    """Count the pods of a batch/v1 JobSpec that run at the same time: parallelism, at most completions."""
    parallelism = number(spec, "parallelism")
    return min(parallelism, number(spec, "completions", parallelism))


def job(nodes: Nodes) -> int:
    """Count by the JobSpec that holds the template."""
    return of_job_spec(nodes[-1])


def replicated_job(nodes: Nodes) -> int:
    """Count a JobSet's replicated job: its replicas, times the pods of one Job."""
    return number(nodes[-3], "replicas") * of_job_spec(nodes[-1])


def ray_workers(nodes: Nodes) -> int:
    """Count a Ray worker group: its replicas, times the hosts of each."""
    return number(nodes[-1], "replicas") * max(number(nodes[-1], "numOfHosts"), 1)


def ray_submitter(nodes: Nodes) -> int:
    """Count a RayJob's submitter pod: only the mode K8sJobMode, the default, has one."""
    return 1 if nodes[-1].get("submissionMode", "K8sJobMode") == "K8sJobMode" else 0


def group_leaders(nodes: Nodes) -> int:
    """Count the leaders of a LeaderWorkerSet: one a group."""
    return number(nodes[-2], "replicas")


def group_workers(nodes: Nodes) -> int:
    """Count the workers of a LeaderWorkerSet: a group's size, less the leader where it has a template of its own."""
    groups, size = number(nodes[-2], "replicas"), number(nodes[-1], "size")
    return groups * (max(size - 1, 0) if nodes[-1].get("leaderTemplate") else size)


def trainer(nodes: Nodes) -> int:
    """Count a TrainJob's nodes."""
    return number(nodes[-1].get("trainer"), "numNodes")


def spark_executors(nodes: Nodes) -> int:
    """Count a SparkApplication's executors; none are asked for by default."""
    return number(nodes[-1].get("executor"), "instances", 0)
