"""How a job ended, by the conditions in its status, else by its phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.kube.fields import at

_GOOD: Final = frozenset({"Complete", "Completed", "Succeeded"})
_BAD: Final = frozenset({"Failed"})
_PHASES: Final = (
    ("status", "phase"),
    ("status", "jobDeploymentStatus"),
    ("status", "applicationState", "state"),
)
_GOOD_PHASES: Final = frozenset({"succeeded", "complete", "completed"})
_BAD_PHASES: Final = frozenset({"failed", "submission_failed"})
_MESSAGES: Final = (("status", "message"), ("status", "applicationState", "errorMessage"))


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a job. `reason` is that of the Workload's condition `Finished`: `Succeeded` or `Failed`."""

    reason: str
    message: str


def finish_of(job: dict[str, Any]) -> Finish | None:
    """Return how the job ended, None if it has not.

    By its conditions (Job, JobSet, the kubeflow kinds), else by its phase (Pod, RayJob, SparkApplication, AppWrapper).
    A failed AppWrapper that still deletes its resources has not ended. A Job's `Complete` is set only when none of its
    pods is running any more (batch/v1 since 1.31).
    """
    conditions = at(job, ("status", "conditions"))
    rows = [c for c in conditions if isinstance(c, dict)] if isinstance(conditions, list) else []
    true = {str(row.get("type")): str(row.get("message") or "") for row in rows if row.get("status") == "True"}
    for kind, message in true.items():
        if kind in _GOOD | _BAD:
            return Finish("Succeeded" if kind in _GOOD else "Failed", message[:1024])
    phase = next((str(text).lower() for path in _PHASES if (text := at(job, path))), "")
    if phase not in _GOOD_PHASES | _BAD_PHASES or (phase in _BAD_PHASES and "ResourcesDeployed" in true):
        return None
    if at(job, ("status", "jobDeploymentStatus")) and at(job, ("status", "jobStatus")) != "SUCCEEDED":
        phase = "failed"  # KubeRay completes a RayJob that was stopped, or whose program failed, as well
    message = next((str(text)[:1024] for path in _MESSAGES if (text := at(job, path))), f"the job is {phase}")
    return Finish("Succeeded" if phase in _GOOD_PHASES else "Failed", message)
