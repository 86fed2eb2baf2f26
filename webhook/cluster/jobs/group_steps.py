"""What to do next for a group of plain pods: a pure function of its pods and its one Workload.

    complete: CREATE    admitted: START those that wait    as many succeeded as it has pods: FINISH
    evicted: END those that run, then RELEASE the quota    more pods than it has: they are SPARE, and deleted

A pod that failed may be replaced: the next one of its role takes its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from webhook.api.snapshot.slices import counts
from webhook.api.snapshot.workload import reclaimed
from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.jobs.steps import gone
from webhook.cluster.queues.workload_conditions import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED
from webhook.jobs.describe import at, describe, suspended
from webhook.jobs.elastic import annotation
from webhook.jobs.pod_groups import RETRIABLE, as_one_job, phase_of, role_of
from webhook.kube.conditions import holds
from webhook.store.objects import Object, uid_of


class GroupStep(StrEnum):
    """One write for each of some pods, or one for the Workload, or nothing."""

    NONE = "none"
    CREATE = "create the Workload"
    JOIN = "make the pods owners of the Workload"
    START = "let the pods go"
    END = "delete the pods"
    SPARE = "delete the pods: the group has as many as it asked for"
    RELEASE = "release the quota"
    RECLAIM = "update the Workload's reclaimable pods"
    FINISH = "mark the Workload finished"
    LET_GO = "remove the finalizer of the Workload"


Next = tuple[GroupStep, Sequence[Object]]


def group_step(pods: Sequence[Object], workload: Object | None) -> Next:
    """Give the next step, and the pods that it is about. `pods` are those of the group, the oldest first."""
    if workload is None:
        return (GroupStep.CREATE if as_one_job(pods) is not None else GroupStep.NONE), ()
    if not pods and holds(workload, QUOTA_RESERVED) and not holds(workload, FINISHED):
        return (GroupStep.RELEASE if holds(workload, EVICTED) else GroupStep.FINISH), ()
    if holds(workload, FINISHED) or not pods:
        return (GroupStep.LET_GO if is_marked(workload) else GroupStep.NONE), ()
    live = [pod for pod in pods if phase_of(pod) not in ("Succeeded", "Failed")]
    running = [pod for pod in live if not _waits(pod)]
    if _is_over(pods, running, workload):
        return GroupStep.FINISH, ()
    if gone(workload) or not holds(workload, QUOTA_RESERVED) or holds(workload, EVICTED):
        return _down(running, workload)
    known = {owner.get("uid") for owner in at(workload, ("metadata", "ownerReferences")) or ()}
    if strangers := [pod for pod in pods if uid_of(pod) not in known and not gone(pod)]:
        return GroupStep.JOIN, strangers
    if ended(pods, workload) != reclaimed(workload):
        return GroupStep.RECLAIM, ()
    return _started(pods, live, workload) if holds(workload, ADMITTED) else (GroupStep.NONE, ())


def _down(running: Sequence[Object], workload: Object) -> Next:
    if running:
        return GroupStep.END, [pod for pod in running if not gone(pod)]
    if gone(workload):
        return GroupStep.LET_GO, ()
    return (GroupStep.RELEASE if holds(workload, QUOTA_RESERVED) else GroupStep.NONE), ()


def _started(pods: Sequence[Object], live: Sequence[Object], workload: Object) -> Next:
    """Choose the pods of each role to let go, and those that are too many."""
    room = Counter(counts(workload))
    room.subtract(role_of(pod) for pod in pods if phase_of(pod) == "Succeeded" or (pod in live and not _waits(pod)))
    chosen: list[Object] = []
    spare: list[Object] = []
    for pod in live:
        if _waits(pod) and not gone(pod):
            fits = room[role_of(pod)] > 0
            room[role_of(pod)] -= 1
            (chosen if fits else spare).append(pod)
    return (GroupStep.START, chosen) if chosen else (GroupStep.SPARE, spare) if spare else (GroupStep.NONE, ())


def _is_over(pods: Sequence[Object], running: Sequence[Object], workload: Object) -> bool:
    succeeded = sum(phase_of(pod) == "Succeeded" for pod in pods)
    last = any(annotation(pod, RETRIABLE) == "false" and phase_of(pod) in ("Succeeded", "Failed") for pod in pods)
    return succeeded >= sum(counts(workload).values()) or (last and not running)


def ended(pods: Sequence[Object], workload: Object) -> dict[str, int]:
    """Count the pods that succeeded, by pod set of the Workload."""
    found = Counter(role_of(pod) for pod in pods if phase_of(pod) == "Succeeded")
    return {name: min(found[name], count) for name, count in counts(workload).items() if found[name]}


def _waits(pod: Object) -> bool:
    described = describe(pod)
    return described is not None and bool(suspended(pod, described.kind))
