"""How a job ended, by its own status: by its conditions, else by its phase. Nothing else of its life is read here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.jobs.describe import at

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


def finish_of(job: dict[str, Any]) -> Finish | None:
    """Say how the job ended, None while it has not.

    By its conditions (Job, JobSet, the kubeflow kinds), else by its phase (Pod, RayJob, SparkApplication, AppWrapper).
    A Job's `Complete` is set only when none of its pods is left running (batch/v1 since 1.31).
    """
    conditions = at(job, ("status", "conditions"))
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("status") == "True":
            kind = str(condition.get("type"))
            if kind in _GOOD | _BAD:
                return Finish("Succeeded" if kind in _GOOD else "Failed", str(condition.get("message") or "")[:1024])
    phase = next((str(text).lower() for path in _PHASES if (text := at(job, path))), "")
    if phase in _GOOD_PHASES | _BAD_PHASES:
        return Finish("Succeeded" if phase in _GOOD_PHASES else "Failed", f"the job is {phase}")
    return None
