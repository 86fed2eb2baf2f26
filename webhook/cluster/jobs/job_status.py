"""What a job object says of its pods: are any still there, are they ready. Reads status fields only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.fields import at
from webhook.store.objects import Object


def runs(job: Object) -> bool:
    """Return whether the job's own status says that pods are there: it counts some, or is in a state that has some."""
    state = _STATES.get(str(job.get("kind")))
    return running_pods(job) > 0 or (state is not None and state(job))


def running_pods(job: Object) -> int:
    """Count the pods that the job's own status says are there, those on their way out included."""
    status = job.get("status") or {}
    count = _number(status.get("active")) + _number(status.get("terminating"))
    replicas = status.get("replicaStatuses")
    if isinstance(replicas, dict):
        count += sum(_number(entry.get("active")) for entry in replicas.values() if isinstance(entry, dict))
    told = (*_list(status.get("replicatedJobsStatus")), *_list(status.get("jobsStatus")))
    return count + sum(_number(entry.get("active")) for entry in told)


def is_refused(job: Object) -> bool:
    """Return whether the kind's own controller refuses the job, and so runs nothing of it until its user mends it."""
    return job.get("kind") == "RayJob" and at(job, ("status", "jobDeploymentStatus")) == "ValidationFailed"


_STATES: Final[dict[str, Callable[[Object], bool]]] = {
    "AppWrapper": lambda job: holds(job, QUOTA_RESERVED),
    "RayCluster": lambda job: at(job, ("status", "state")) == "ready",
    "RayJob": lambda job: at(job, ("status", "jobDeploymentStatus")) not in (None, "", "Suspended", "ValidationFailed"),
    "RayService": lambda job: holds(job, "Ready"),
    "SparkApplication": lambda job: at(job, ("status", "applicationState", "state")) == "RUNNING",
}
"""Of the kinds whose status counts no pods. Their controllers take pods away before they leave the state."""


def ready(job: Object) -> bool | None:
    """Return whether all pods of a Job are ready; None where the kind does not tell."""
    if at(job, ("status", "ready")) is None:
        return None
    wanted = at(job, ("spec", "parallelism"))
    completions = at(job, ("spec", "completions"))
    done = _number(at(job, ("status", "succeeded")))
    need = _number(wanted if wanted is not None else 1)
    if completions is not None:
        need = min(need, max(0, _number(completions) - done))
    return _number(at(job, ("status", "ready"))) >= need


def _list(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
