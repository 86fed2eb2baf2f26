"""When the parts of a Workload's life begin and end: its deadline, since when its pods are not ready, its run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.kube.condition_types import ADMITTED, PODS_READY, WAIT_FOR_RECOVERY
from webhook.kube.times import milliseconds
from webhook.queue.model import LONGEST_RUN, Admission

Object = Mapping[str, Any]
RUN_TIME: Final = "sluice.dev/run-time-seconds"


def deadline_of(obj: Object) -> int:
    """Return when a Workload's maximum execution time ends (milliseconds), 0 where it has none or is not admitted."""
    status = obj.get("status") or {}
    return deadline(obj.get("spec") or {}, status, true_conditions(status))


def true_conditions(status: Object) -> dict[str, Object]:
    """Return the conditions of a status that are True, by type."""
    return {c["type"]: c for c in status.get("conditions") or () if c.get("status") == "True"}


def deadline(spec: Object, status: Object, conditions: Mapping[str, Object]) -> int:
    """Return when a workload's maximum execution time ends; what it was admitted before counts (`Admit` to `Evict`)."""
    limit, admitted = spec.get("maximumExecutionTimeSeconds"), conditions.get(ADMITTED)
    if not limit or admitted is None:
        return 0
    past = status.get("accumulatedPastExecutionTimeSeconds") or status.get("accumulatedPastExexcutionTimeSeconds") or 0
    return milliseconds(admitted.get("lastTransitionTime")) + 1000 * max(0, int(limit) - int(past))


def readiness(
    status: Object, conditions: Mapping[str, Object], admission: Admission | None, *, waits: bool
) -> dict[str, Any]:
    """Read whether the pods of a workload are ready, or since when they are not.

    Before they were ready for the first time that is since its admission. Where the condition is missing, its pods are
    not looked at, unless the settings say that workloads wait for them. Conditions have whole seconds: the last moment
    of one counts, as a time-out of a second would else be over at once.
    """
    ready = next((c for c in status.get("conditions") or () if c.get("type") == PODS_READY), None)
    if ready is not None and ready.get("status") == "True":
        return {"pods_ready": True}
    if admission is None or (ready is None and not waits):
        return {}
    ready, admitted = ready or {}, conditions.get(ADMITTED)
    if ready.get("reason") == WAIT_FOR_RECOVERY:
        return {"unready_since": _latest(ready), "recovers": True}
    if admitted is None:
        return {}
    return {"unready_since": _latest(admitted)}


def _latest(condition: Object) -> int:
    """Return the latest moment (milliseconds) at which a condition can have changed, 0 where it does not say."""
    changed = milliseconds(condition.get("lastTransitionTime"))
    return changed + 999 if changed else 0


def run_time(spec: Object, annotations: Mapping[str, str]) -> int | None:
    """Return how long a workload runs (milliseconds): as its annotation says, or at most; None if nothing says so."""
    seconds = annotations.get(RUN_TIME, "")
    if seconds.isascii() and seconds.isdigit():
        digits = seconds.lstrip("0")[: len(str(LONGEST_RUN))]  # an annotation has room for 250,000
        return min(int(digits or "0") * 1000, LONGEST_RUN)
    limit = spec.get("maximumExecutionTimeSeconds")
    return int(limit) * 1000 if limit else None
