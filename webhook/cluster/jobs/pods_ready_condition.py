"""The condition `PodsReady` of a Workload, as its job's status has it; in Kueue's words. Pure.

The time-out and the back-off are rules, in `policies/queue/pods-ready`; `webhook/queue/cycle/evictions.py` evicts.
"""

from __future__ import annotations

from typing import Final

from webhook.cluster.jobs.steps import JobStep
from webhook.jobs.job import Job
from webhook.jobs.readiness import pods_ready
from webhook.kube.condition_types import ADMITTED, FINISHED, PODS_READY, WAIT_FOR_RECOVERY, WAIT_FOR_START
from webhook.kube.conditions import find, holds
from webhook.store.objects import Object

STARTED: Final = "Started"
"""The reason of `PodsReady` when all pods are ready for the first time since the admission."""
_RECOVERING: Final = frozenset({WAIT_FOR_RECOVERY, "Recovered"})
_STARTS: Final = (False, WAIT_FOR_START, "Not all pods are ready or succeeded")
_RECOVERS: Final = (False, WAIT_FOR_RECOVERY, "At least one pod has failed, waiting for recovery")
_READY: Final = "All pods reached readiness and the workload is running"
_ENDS: Final = frozenset({JobStep.CREATE, JobStep.ADOPT, JobStep.REJECT, JobStep.GROW, JobStep.REPLACED,
                          JobStep.OBSOLETE, JobStep.OUTGROWN, JobStep.FINISH, JobStep.LET_GO})  # fmt: skip
"""Steps that begin or end a Workload: what its pods do matters not yet, or no more."""


def readiness(job: Object, described: Job, workload: Object | None, step: JobStep) -> tuple[bool, str, str] | None:
    """Return status, reason and message of the condition where it is to change; None where it stands."""
    if workload is None or step in _ENDS:
        return None
    return told_of(workload, ready=pods_ready(job, described))


def told_of(workload: Object, *, ready: bool) -> tuple[bool, str, str] | None:
    """Return what the condition is to say where all pods are ready now, or are not; None where it stands."""
    if holds(workload, FINISHED):
        return None
    told = find(workload, PODS_READY)
    status, reason, message = _of(workload, told or {}, ready=ready)
    if told is not None and (told.get("status"), told.get("reason")) == (str(status), reason):
        return None
    return status, reason, message


def _of(workload: Object, told: Object, *, ready: bool) -> tuple[bool, str, str]:
    if not holds(workload, ADMITTED):
        return _STARTS
    before = told.get("reason")
    if ready:
        return True, "Recovered" if before in _RECOVERING else STARTED, _READY
    return _RECOVERS if told.get("status") == "True" or before == WAIT_FOR_RECOVERY else _STARTS
