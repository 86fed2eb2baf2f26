"""What to do next for one job: a pure function of the job and its Workload, as they stand.

There is no memory between two calls. Whoever is killed between two steps, or takes over from another, comes to the
same next step from the same objects:

    no Workload: CREATE    admitted, suspended: START    not admitted, running: STOP    ended: FINISH
    evicted, running: STOP    evicted, stopped: RESTORE the templates, then RELEASE the quota

A Pod that runs cannot be held again: to STOP it is to delete it, and its Workload goes when it is gone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from webhook.cluster.jobs.lifecycle import running_pods
from webhook.cluster.queues.conditions import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, holds
from webhook.jobs.describe import at, suspended
from webhook.jobs.finish import finish_of
from webhook.jobs.model import Job
from webhook.store.objects import Object

DIGEST: Final = "sluice.dev/spec-digest"
"""An annotation of a Workload: what of the job it was made from, so that an edit of the job is noticed."""

ARRIVAL: Final = "sluice.dev/arrival"
"""An annotation of a Workload: when its job was created, and the job's version then.

Creation times have whole seconds only; among jobs of one second the version tells who came first.
"""
FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"
"""Keeps a Workload, and so the quota it holds, until the pods of its job are gone."""


class JobStep(StrEnum):
    """One write, or nothing."""

    NONE = "none"
    CREATE = "create the Workload"
    RENEW = "write the Workload's spec anew"
    START = "unsuspend the job"
    STOP = "suspend the job, or delete the pod"
    RESTORE = "take the flavor's labels off the templates"
    RELEASE = "give the quota back"
    FINISH = "mark the Workload finished"
    LET_GO = "take the finalizer off the Workload"
    WAIT = "wait for the job's pods to end"


def next_step(job: Object, described: Job, workload: Object | None, digest: str, changed: bool) -> JobStep:
    """Give the next step for a managed job.

    `digest` is that of the Workload the job would get now; `changed` says whether its templates carry what an
    admission put there.
    """
    over = finish_of(job) is not None
    if workload is None:
        return JobStep.NONE if over or gone(job) else JobStep.CREATE
    if holds(workload, FINISHED):
        return JobStep.LET_GO if FINALIZER in finalizers(workload) else JobStep.NONE
    if over:
        return JobStep.FINISH
    if described.kind.gate and gone(job):
        return JobStep.NONE
    stopped = bool(suspended(job, described.kind))
    if gone(workload):
        return JobStep.STOP if not stopped else JobStep.WAIT if still_there(job) else JobStep.LET_GO
    if holds(workload, QUOTA_RESERVED):
        return _with_quota(job, workload, stopped, changed)
    if not stopped:
        return JobStep.STOP
    old = (at(workload, ("metadata", "annotations")) or {}).get(DIGEST)
    return JobStep.RENEW if old and old != digest else JobStep.NONE


def _with_quota(job: Object, workload: Object, stopped: bool, changed: bool) -> JobStep:
    if holds(workload, EVICTED):
        if not stopped:
            return JobStep.STOP
        if still_there(job):
            return JobStep.WAIT
        return JobStep.RESTORE if changed else JobStep.RELEASE
    if not holds(workload, ADMITTED):
        return JobStep.NONE if stopped else JobStep.STOP
    return JobStep.START if stopped and not gone(job) else JobStep.NONE


def still_there(job: Object) -> bool:
    """Say whether pods of a suspended job may still run: it counts some, or its controller has not seen the stop.

    A Job that was started keeps its startTime; the controller's condition `Suspended` tells that it saw the stop.
    """
    if running_pods(job) > 0:
        return True
    return bool(at(job, ("status", "startTime"))) and job.get("kind") == "Job" and not holds(job, "Suspended")


def gone(obj: Object) -> bool:
    """Say whether an object is being deleted."""
    return bool(at(obj, ("metadata", "deletionTimestamp")))


def finalizers(obj: Object) -> list[str]:
    """Give an object's finalizers."""
    return at(obj, ("metadata", "finalizers")) or []
