"""What to do next for one job: a pure function of the job and its Workload, as they stand.

There is no memory between two calls. Whoever is killed between two steps, or takes over from another, comes to the
same next step from the same objects:

    no Workload: CREATE    admitted, suspended: START    not admitted, running: STOP    ended: FINISH
    evicted, running: STOP    evicted, stopped: RESTORE the templates, then RELEASE the quota
    admitted, then evicted or deleted, and never started: STOP all the same, so that a start under way fails
    refused by the kind's own controller: HOLD, which gives the quota back (evicted: STOP before it, for pods that run)
    refused no more: STOP, RESUME
    stopped without an eviction (admission cleared, Workload being deleted): RESTORE the templates

A Pod that runs cannot be held again: to STOP it is to delete it, and its Workload goes when it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.api.job_to_workload import STOPPED
from webhook.api.snapshot.workload import is_on_hold
from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.jobs.job_status import is_refused, runs
from webhook.jobs.finish import finish_of
from webhook.jobs.job import Job
from webhook.jobs.pod_groups import is_running, is_tracked
from webhook.jobs.read_job import suspended
from webhook.kube.condition_types import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.store.objects import Object

DIGEST: Final = "sluice.dev/spec-digest"
"""An annotation of a Workload: what of the job it was made from, so that an edit of the job is noticed."""

RENEWED: Final = "sluice.dev/renewed"
"""An annotation of a Workload: the generation over which its spec was written anew.

A Workload that still has that generation has kept nothing of it: another webhook, or a CRD without some of its fields,
saw to that, and it is not written again.
"""

TERMINATION: Final = "TerminationTarget"
"""The condition of a Pod that is about to be deleted; its reason says why. Kueue's words."""

EPOCH: Final = "sluice.dev/epoch"
"""An annotation of a Workload: which leader wrote to it last while it waited."""


class JobStep(StrEnum):
    """One write, or nothing."""

    NONE = "none"
    CREATE = "create the Workload"
    ADOPT = "take over the Workload that the job names"
    REJECT = "mark the Workload that the job names finished: it is of another size"
    RECLAIM = "update the Workload's reclaimable pods"
    OUTGROWN = "delete the Workload: the job is bigger now"
    RENEW = "update the Workload's spec"
    REPRIORITIZE = "update the Workload's priority"
    ASK = "update the Workload's admission checks"
    GROW = "create the Workload that is to replace this one"
    RESIZE = "update the Workload's number of pods"
    REPLACED = "mark the Workload finished: another has replaced it"
    OBSOLETE = "mark the Workload finished: the job has another size"
    START = "unsuspend the job"
    STOP = "suspend the job, or delete the pod"
    FREE = "track the pod no more"
    RESTORE = "remove the flavor's labels from the pod templates"
    RELEASE = "release the quota"
    WITHDRAW = "release the quota of the Workload that was to replace another: no pods run by it"
    HOLD = "put the Workload on hold: the job's own controller refuses the job"
    RESUME = "put the Workload back into its queue"
    FINISH = "mark the Workload finished"
    LET_GO = "remove the finalizer of the Workload"
    WAIT = "wait for the job's pods to terminate"


@dataclass(frozen=True, slots=True)
class Differences:
    """What of a job and its Workload is not as it should be.

    `spec`: the job would get another Workload now. `priority`: its class is another, or has another value. `checks`:
    its queue asks for other admission checks. `templates`: the job's templates carry what an admission put there.
    `reclaimable`: other pods have ended than the Workload says. `bigger`: the job runs with more pods than it got.
    """

    spec: bool = False
    reclaimable: bool = False
    bigger: bool = False
    priority: bool = False
    checks: bool = False
    templates: bool = False


def next_step(job: Object, described: Job, workload: Object | None, differs: Differences) -> JobStep:
    """Return the next step for a managed job."""
    over = finish_of(job) is not None
    if is_free(job, workload):
        return JobStep.FREE
    if workload is None:
        return JobStep.NONE if over or gone(job) else JobStep.CREATE
    if holds(workload, FINISHED):
        return JobStep.LET_GO if is_marked(workload) else JobStep.NONE
    if over:
        return JobStep.FINISH
    if described.kind.gate and gone(job):
        ends = holds(workload, EVICTED) and holds(workload, QUOTA_RESERVED) and not is_running(job)
        return JobStep.RELEASE if ends else JobStep.NONE
    stopped = bool(suspended(job, described.kind))
    if not gone(workload) and is_refused(job):
        if not holds(workload, QUOTA_RESERVED):
            return JobStep.NONE
        return JobStep.STOP if holds(workload, EVICTED) and not stopped else JobStep.HOLD
    if stopped and is_on_hold(workload) and not differs.templates:
        return JobStep.RESUME
    if gone(workload):
        return down(job, workload, stopped, differs, JobStep.LET_GO)
    if holds(workload, QUOTA_RESERVED):
        return _with_quota(job, workload, stopped, differs)
    if not stopped or differs.templates:
        return down(job, workload, stopped, differs, JobStep.NONE)
    if differs.spec:
        return JobStep.RENEW
    if differs.priority:
        return JobStep.REPRIORITIZE
    return JobStep.RECLAIM if differs.reclaimable else JobStep.NONE


def is_free(job: Object, workload: Object | None) -> bool:
    """Return whether a pod need not be tracked any more: it was deleted, or it has ended and the queue knows."""
    if not is_tracked(job):
        return False
    known = finish_of(job) is not None if workload is None else holds(workload, FINISHED)
    return gone(job) or known


def down(job: Object, workload: Object, stopped: bool, differs: Differences, then: JobStep) -> JobStep:
    """Bring a job to rest, its templates as they were before it was started; `then` is the step after that."""
    if not stopped or may_start(job, workload):
        return JobStep.STOP
    if still_there(job):
        return JobStep.WAIT
    return JobStep.RESTORE if differs.templates else then


def _with_quota(job: Object, workload: Object, stopped: bool, differs: Differences) -> JobStep:
    if holds(workload, EVICTED):
        return down(job, workload, stopped, differs, JobStep.RELEASE)
    if differs.bigger:
        return down(job, workload, stopped, differs, JobStep.OUTGROWN)
    if differs.priority:
        return JobStep.REPRIORITIZE
    if differs.reclaimable:
        return JobStep.RECLAIM
    if not holds(workload, ADMITTED):
        return JobStep.STOP if not stopped else JobStep.ASK if differs.checks else JobStep.NONE
    return JobStep.START if stopped and not gone(job) else JobStep.NONE


def still_there(job: Object) -> bool:
    """Return whether pods of a suspended job may still run: it counts some, or its controller has not seen the stop.

    A Job that was started keeps its startTime; the controller's condition `Suspended` tells that it saw the stop.
    """
    if runs(job):
        return True
    return bool(at(job, ("status", "startTime"))) and job.get("kind") == "Job" and not holds(job, "Suspended")


def may_start(job: Object, workload: Object) -> bool:
    """Return whether a start that was sent before its Workload went can succeed: the job is as it was then."""
    if (since := went(workload)) is None or not holds(workload, ADMITTED):
        return False
    return since not in (at(job, ("metadata", "annotations", STOPPED)), (find(job, STOPPED) or {}).get("message"))


def went(workload: Object) -> str | None:
    """Return since when a job may not run by its Workload any more: it was deleted or evicted then; None if neither."""
    if since := at(workload, ("metadata", "deletionTimestamp")):
        return str(since)
    return str(at(find(workload, EVICTED) or {}, ("lastTransitionTime",))) if holds(workload, EVICTED) else None


def is_untouched(job: Object) -> bool:
    """Return whether a job is as it was created, so that it was never stopped."""
    return bool(at(job, ("metadata", "generation")) == 1)


def gone(obj: Object) -> bool:
    """Return whether an object is being deleted."""
    return bool(at(obj, ("metadata", "deletionTimestamp")))
