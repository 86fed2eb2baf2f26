"""What to do next for a group of plain pods: a pure function of its pods and its one Workload.

    complete: CREATE    admitted: START those that wait    as many succeeded as it has pods: FINISH
    evicted: END those that run, HOLD those that wait, then RELEASE the quota
    more pods than it has: they are SPARE, and deleted    it waits in another queue than its pods name: MOVE

A pod that failed may be replaced: the next one of its role takes its place. Until then it is tracked (a finalizer
keeps it), so that its role is known; then it is FREE. A group that serves has no end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.api.requests import asks_more, pod_requests, requests_of_pod_sets
from webhook.api.snapshot.slices import counts
from webhook.api.snapshot.workload import reclaimed
from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.jobs.managed import lost_job
from webhook.cluster.jobs.steps import TERMINATION, gone, may_start
from webhook.jobs.elastic import annotation
from webhook.jobs.pod_groups import (
    FAST,
    RETRIABLE,
    SERVING,
    as_one_job,
    is_over,
    is_running,
    is_tracked,
    may_run,
    phase_of,
    role_of,
    says,
    staying,
    total_of,
    waits,
)
from webhook.jobs.read_job import prebuilt_of, queue_of
from webhook.kube.condition_types import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    WAITING_FOR_REPLACEMENT_PODS,
)
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.store.objects import Object, uid_of

Told = tuple[bool, str, str]
"""Status, reason and message of a condition."""
_REPLACED: Final = (False, PODS_READY, "No pods need replacement")
_FAILED: Final = (True, "PodsFailed", "Some Failed pods need replacement")


class GroupStep(StrEnum):
    """One write for each of some pods, or one for the Workload, or nothing."""

    NONE = "none"
    CREATE = "create the Workload"
    JOIN = "make the pods owners of the Workload"
    START = "let the pods go"
    END = "delete the pods"
    HOLD = "let no start of the pods succeed that was sent before"
    SPARE = "delete the pods: the group has as many as it asked for"
    FREE = "track the pods no more"
    TELL = "say whether pods are to be replaced"
    RELEASE = "release the quota"
    RECLAIM = "update the Workload's reclaimable pods"
    MOVE = "put the Workload into the queue of its pods"
    FINISH = "mark the Workload finished"
    DROP = "delete the Workload: it is of other pods"
    LET_GO = "remove the finalizer of the Workload"


Next = tuple[GroupStep, Sequence[Object]]


@dataclass(frozen=True, slots=True)
class Places:
    """The pods of a group in the places of its Workload, by role: who has one, who is too many, whom others replaced.

    Those of a role that it does not have wait, and so do those that request more than their role has: anybody may write
    the role on a pod. One that was deleted is replaced.

    `absent` is the number of places that wait for another pod.
    """

    kept: Sequence[Object]
    spare: Sequence[Object]
    replaced: Sequence[Object]
    absent: int


def group_step(pods: Sequence[Object], workload: Object | None) -> Next:
    """Return the next step, and the pods that it is about. `pods` are those of the group, the oldest first."""
    if workload is None:
        return _alone(pods)
    if not pods:
        return _empty(workload)
    tracked = [pod for pod in pods if is_tracked(pod)]
    if holds(workload, FINISHED):
        return _last(tracked, workload)
    if gone(workload):
        return _deleted(pods, tracked, workload)
    if _is_given_up(pods) and not _is_over(pods, sum(counts(workload).values())):
        return GroupStep.FREE, [pod for pod in tracked if not is_running(pod)]
    found = places(pods, workload)
    if not found.kept and by_pods(workload):
        return GroupStep.DROP, ()
    known = {owner.get("uid") for owner in at(workload, ("metadata", "ownerReferences")) or ()}
    if strangers := [pod for pod in found.kept if uid_of(pod) not in known and not gone(pod)]:
        return GroupStep.JOIN, strangers
    if found.spare:
        return GroupStep.SPARE, found.spare
    if free := [pod for pod in found.replaced if is_tracked(pod)]:
        return GroupStep.FREE, free
    if replacement(found, workload) is not None:
        return GroupStep.TELL, ()
    return _placed(found.kept, workload)


def places(pods: Iterable[Object], workload: Object) -> Places:
    """Return the pod for each place of a Workload: one that runs or may run yet, else the last that did."""
    pods = list(pods)
    kept: list[Object] = []
    spare: list[Object] = []
    replaced: list[Object] = []
    absent = 0
    granted = requests_of_pod_sets(workload) if by_pods(workload) else {}  # those of a parent are as it makes them
    for role, count in counts(workload).items():
        mine = [pod for pod in pods if role_of(pod) == role and not _is_too_big(pod, granted.get(role))]
        able = staying(pod for pod in mine if may_run(pod))
        lost = staying(reversed([pod for pod in mine if not may_run(pod)]))
        left = max(0, count - len(able))
        kept += [*able[:count], *lost[:left]]
        spare += able[count:]
        replaced += lost[left:]
        absent += bool(count and not able) if says(pods, FAST) else left
    replaced += [pod for pod in pods if role_of(pod) not in counts(workload) and not may_run(pod)]
    return Places(kept, spare, replaced, absent)


def _is_too_big(pod: Object, granted: Mapping[str, int] | None) -> bool:
    """Return whether a waiting pod requests more than the pods of its role have."""
    return granted is not None and waits(pod) and asks_more(pod_requests(pod.get("spec") or {}), granted)


def replacement(found: Places, workload: Object) -> Told | None:
    """Return the condition `WaitingForReplacementPods`, None where it stands so, or need not be there."""
    told = find(workload, WAITING_FOR_REPLACEMENT_PODS) or {}
    if not found.absent or not by_pods(workload):
        return _REPLACED if told.get("status", "False") != "False" else None
    if holds(workload, EVICTED):
        why = find(workload, EVICTED) or {}
        wanted = True, str(why.get("reason") or ""), str(why.get("message") or "")
        return (
            None if (told.get("status"), told.get("reason"), told.get("message")) == ("True", *wanted[1:]) else wanted
        )
    return None if told.get("status") == "True" else _FAILED


def by_pods(workload: Object) -> bool:
    """Return whether a Workload belongs to pods alone, and to nothing that makes them anew."""
    owners = at(workload, ("metadata", "ownerReferences")) or ()
    return bool(owners) and all(owner.get("kind") == "Pod" for owner in owners)


def ended(pods: Sequence[Object], workload: Object) -> dict[str, int]:
    """Count the pods that succeeded, by pod set of the Workload; a group that serves needs their places again."""
    if says(pods, SERVING):
        return {}
    found = Counter(role_of(pod) for pod in pods if phase_of(pod) == "Succeeded")
    return {name: min(found[name], count) for name, count in counts(workload).items() if found[name]}


def _alone(pods: Sequence[Object]) -> Next:
    """Make the Workload of a group that is complete, unless it names one that is to come.

    One that has ended gets no other: its Workload was deleted when its retention was over, or by hand.
    """
    ended = bool(total := total_of(pods)) and not says(pods, SERVING) and _is_over(pods, total)
    if free := [pod for pod in pods if is_tracked(pod) and (ended or not may_run(pod))]:
        return GroupStep.FREE, free
    if ended or as_one_job(pods) is None or prebuilt_of(pods[0]):
        return GroupStep.NONE, ()
    able = staying(pod for pod in pods if may_run(pod))
    return (GroupStep.SPARE, able[total:]) if able[total:] else (GroupStep.CREATE, able)


def _empty(workload: Object) -> Next:
    """See to a Workload whose pods are all gone; one that something else owns gets others.

    They may have left it behind (`kubectl delete --cascade=orphan`): then it has no owner, and says whose it was.
    """
    if gone(workload) or holds(workload, FINISHED):
        return (GroupStep.LET_GO if is_marked(workload) else GroupStep.NONE), ()
    lost = bool(lost_job(workload)) and not at(workload, ("metadata", "ownerReferences"))
    if not lost and not by_pods(workload):
        return _down((), workload) if holds(workload, EVICTED) else (GroupStep.NONE, ())
    if holds(workload, QUOTA_RESERVED):
        return (GroupStep.RELEASE if holds(workload, EVICTED) else GroupStep.FINISH), ()
    if lost:
        return GroupStep.FINISH, ()
    return (GroupStep.LET_GO if is_marked(workload) else GroupStep.NONE), ()


def _last(tracked: Sequence[Object], workload: Object) -> Next:
    if tracked:
        return GroupStep.FREE, tracked
    return (GroupStep.LET_GO if is_marked(workload) else GroupStep.NONE), ()


def _deleted(pods: Sequence[Object], tracked: Sequence[Object], workload: Object) -> Next:
    """See to a group whose Workload is being deleted: its pods go with it."""
    if there := [pod for pod in pods if not gone(pod)]:
        return GroupStep.END, there
    return (GroupStep.NONE, ()) if any(is_running(pod) for pod in pods) else _last(tracked, workload)


def _placed(kept: Sequence[Object], workload: Object) -> Next:
    """Return the next step for a group whose every pod has its place."""
    if not says(kept, SERVING) and _is_over(kept, sum(counts(workload).values())):
        return GroupStep.FINISH, ()
    rests = not holds(workload, QUOTA_RESERVED) or holds(workload, EVICTED)
    if rests and (down := _down(kept, workload))[0] is not GroupStep.NONE:
        return down
    if not holds(workload, QUOTA_RESERVED) and to_move(kept, workload):
        return GroupStep.MOVE, ()
    if ended(kept, workload) != reclaimed(workload):
        return GroupStep.RECLAIM, ()
    if rests or not holds(workload, ADMITTED):
        return GroupStep.NONE, ()
    waiting = [pod for pod in kept if waits(pod) and not gone(pod)]
    return (GroupStep.START if waiting else GroupStep.NONE), waiting


def to_move(pods: Sequence[Object], workload: Object) -> str:
    """Return the queue that all pods of a group name, where their Workload has another one, "" where it need not move.

    That of a group that serves is its parent's to move, one that its pods name by its own name, somebody else's.
    Source: CustomQueueNameChange of pods, in Kueue.
    """
    if not by_pods(workload) or says(pods, SERVING) or any(map(prebuilt_of, pods)):
        return ""
    names = {queue_of(pod) or "" for pod in pods}
    name = names.pop() if len(names) == 1 else ""
    return name if name != at(workload, ("spec", "queueName")) else ""


def _is_given_up(pods: Sequence[Object]) -> bool:
    """Return whether somebody deleted all pods of a group, and not the queue."""
    return all(gone(pod) and find(pod, TERMINATION) is None for pod in pods) and not says(pods, SERVING)


def _down(pods: Sequence[Object], workload: Object) -> Next:
    if there := [pod for pod in pods if not (gone(pod) or waits(pod) or is_over(pod))]:
        return GroupStep.END, there
    if any(is_running(pod) for pod in pods) or not holds(workload, QUOTA_RESERVED):
        return GroupStep.NONE, ()
    if able := [pod for pod in pods if waits(pod) and may_start(pod, workload)]:
        return GroupStep.HOLD, able
    return GroupStep.RELEASE, ()


def _is_over(pods: Sequence[Object], total: int) -> bool:
    succeeded = sum(phase_of(pod) == "Succeeded" for pod in pods)
    last = any(annotation(pod, RETRIABLE) == "false" for pod in pods)
    return succeeded >= total or (last and all(is_over(pod) for pod in pods))
