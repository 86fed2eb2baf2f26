"""What a job object says of its own life: has it finished, are pods of it still there. Reads status fields only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.jobs.describe import at
from webhook.store.objects import Object

_GOOD: Final = frozenset({"Complete", "Completed", "Succeeded"})
_BAD: Final = frozenset({"Failed"})
_PHASES: Final = (
    ("status", "phase"),
    ("status", "jobDeploymentStatus"),
    ("status", "applicationState", "state"),
)
_GOOD_PHASES: Final = frozenset({"succeeded", "complete", "completed"})
_BAD_PHASES: Final = frozenset({"failed"})


@dataclass(frozen=True, slots=True)
class Finish:
    """How a job ended. `reason` is one of the Workload condition `Finished`: `Succeeded` or `Failed`."""

    reason: str
    message: str


def finish_of(job: Object) -> Finish | None:
    """Say how the job ended, None while it has not.

    By its conditions (Job, JobSet, the kubeflow kinds), else by its phase (Pod, RayJob, SparkApplication, AppWrapper).
    A Job's `Complete` is set only when none of its pods is left running (batch/v1 since 1.31).
    """
    for condition in _list(at(job, ("status", "conditions"))):
        if condition.get("status") == "True" and condition.get("type") in _GOOD | _BAD:
            good = condition["type"] in _GOOD
            return Finish("Succeeded" if good else "Failed", str(condition.get("message") or "")[:1024])
    phase = next((str(text).lower() for path in _PHASES if (text := at(job, path))), "")
    if phase in _GOOD_PHASES | _BAD_PHASES:
        return Finish("Succeeded" if phase in _GOOD_PHASES else "Failed", f"the job is {phase}")
    return None


def running_pods(job: Object) -> int:
    """Count the pods that the job's own status says are there, those on their way out included."""
    status = job.get("status") or {}
    count = _number(status.get("active")) + _number(status.get("terminating"))
    replicas = status.get("replicaStatuses")
    if isinstance(replicas, dict):
        count += sum(_number(entry.get("active")) for entry in replicas.values() if isinstance(entry, dict))
    return count + sum(_number(entry.get("active")) for entry in _list(status.get("replicatedJobsStatus")))


def owned_pods(job_uid: str, pods: list[Object]) -> int:
    """Count the pods that belong to the job by owner or by the Job controller's label, and have not ended."""
    return sum(1 for pod in pods if _belongs(pod, job_uid) and at(pod, ("status", "phase")) not in _ENDED)


_ENDED: Final = frozenset({"Succeeded", "Failed"})


def _belongs(pod: Object, uid: str) -> bool:
    owners = _list(at(pod, ("metadata", "ownerReferences")))
    labels = at(pod, ("metadata", "labels")) or {}
    return any(owner.get("uid") == uid for owner in owners) or labels.get("batch.kubernetes.io/controller-uid") == uid


def ready(job: Object) -> bool | None:
    """Say whether all pods of a Job are ready; None where the kind does not tell."""
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
