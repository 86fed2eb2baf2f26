"""Events about Workloads, and the message of a preemption, in Kueue's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import CLUSTER_QUEUE, COHORT
from webhook.cluster.api.view import View
from webhook.cluster.workloads.admission_checks import PENDING, states_of
from webhook.cluster.workloads.conditions import DEACTIVATES, OVERTIME
from webhook.kube.condition_types import ADMITTED, PREEMPTED, QUOTA_RESERVED, REQUEUED
from webhook.kube.conditions import find
from webhook.kube.fields import at
from webhook.kube.times import milliseconds
from webhook.queue.decisions import Admitted, Preempted, PreemptionReason
from webhook.queue.model import BY_ADMISSION_CHECK
from webhook.store.objects import Object, key_of, uid_of

JOB_UID: Final = "kueue.x-k8s.io/job-uid"
UNKNOWN: Final = "UNKNOWN"
_WHY: Final = {
    PreemptionReason.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    PreemptionReason.RECLAIM: "reclamation within the cohort",
    PreemptionReason.FAIR_SHARING: "Fair Sharing within the cohort",
    PreemptionReason.RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


def tell_admitted(events: EventRecorder, workload: Object, decision: Admitted, now: int) -> None:
    """Record that a Workload got quota, and its admission unless a check is pending; `now` in milliseconds."""
    queue = decision.cluster_queue
    waited = _seconds(now - queued_at(workload))
    text = f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited}s"
    events.tell(workload, QUOTA_RESERVED, text)
    if decision.admitted:
        _tell_admission(events, workload, queue, 0)


def tell_ready(events: EventRecorder, workload: Object, queue: str, now: int) -> None:
    """Record that a Workload with quota is admitted; `now` in milliseconds since the epoch."""
    reserved = milliseconds((find(workload, QUOTA_RESERVED) or {}).get("lastTransitionTime"))
    _tell_admission(events, workload, queue, now - reserved)


def _tell_admission(events: EventRecorder, workload: Object, queue: str, waited: int) -> None:
    text = f"Admitted by ClusterQueue {queue}, wait time since reservation was {_seconds(waited)}s"
    events.tell(workload, ADMITTED, text)


def tell_evicted(events: EventRecorder, workload: Object, reason: str, message: str) -> None:
    """Record an eviction."""
    events.tell(workload, f"EvictedDueTo{reason}", message)


def tell_preempted(
    events: EventRecorder, preemptor: Object | None, victim: Object | None, message: str, queue: str
) -> None:
    """Record a preemption on the victim and on the preemptor; `queue` is the victim's ClusterQueue."""
    if victim is None:
        return
    events.tell(victim, PREEMPTED, message)
    if preemptor is not None:
        name = "/".join(key_of(victim))
        text = f"Preempted workload {name} (UID: {uid_of(victim)}) in ClusterQueue {queue}"
        events.tell(preemptor, "PreemptedWorkload", text)


def tell_checks(events: EventRecorder, jobs: Iterable[Object], workload: Object) -> None:
    """Record on jobs the messages of their Workload's pending checks."""
    rows = [row for row in states_of(workload) if row.get("state") == PENDING and row.get("message")]
    for job in jobs if rows else ():
        events.tell(job, "UpdatedAdmissionCheck", "; ".join(f"{row.get('name')}: {row['message']}" for row in rows))


def tell_deactivated(events: EventRecorder, workload: Object, reason: str, message: str) -> None:
    """Record a warning that a Workload is deactivated, if `reason`, that of its eviction, has an Event of its own."""
    if reason == OVERTIME:
        limit = at(workload, ("spec", "maximumExecutionTimeSeconds"))
        text = f"The maximum execution time ({limit}s) exceeded"
        events.tell(workload, "MaximumExecutionTimeExceeded", text, warning=True)
    elif reason == f"{DEACTIVATES}{BY_ADMISSION_CHECK}":
        events.tell(workload, "AdmissionCheckRejected", f"Deactivated due to {message}", warning=True)


def queued_at(workload: Object) -> int:
    """Return when a Workload was created or last requeued, in milliseconds since the epoch."""
    requeued = find(workload, REQUEUED) or {}
    if requeued.get("status") == "True":
        return milliseconds(requeued.get("lastTransitionTime"))
    return milliseconds(at(workload, ("metadata", "creationTimestamp")))


def preemption_message(view: View, decision: Preempted, preemptor: Object | None, queue: str) -> str:
    """Return the message of a preemption; `queue` is the preemptor's ClusterQueue."""
    paths = f"preemptor path: {path(view, queue)}; preemptee path: {path(view, decision.cluster_queue)}"
    return f"Preempted to accommodate a workload ({identity(preemptor)}) due to {_WHY[decision.reason]}; {paths}"


def identity(workload: Object | None) -> str:
    """Return a text with the uids of a Workload and its job."""
    uid = uid_of(workload) if workload else UNKNOWN
    job = (at(workload or {}, ("metadata", "labels")) or {}).get(JOB_UID) or UNKNOWN
    return f"UID: {uid}, JobUID: {job}"


def cohorts_above(view: View, queue: str) -> Iterator[str]:
    """Yield the cohorts above a ClusterQueue, the nearest first; a cycle ends where it began."""
    seen: set[str] = set()
    above = str(at(view.informer(CLUSTER_QUEUE).get(queue), ("spec", "cohortName")) or "")
    while above and above not in seen:
        seen.add(above)
        yield above
        above = str(at(view.informer(COHORT).get(above), ("spec", "parentName")) or "")


def path(view: View, queue: str) -> str:
    """Return the path from the root cohort to a ClusterQueue."""
    names = [queue, *cohorts_above(view, queue)]
    return "/" + "/".join(reversed(names)) if queue else UNKNOWN


def _seconds(milliseconds_: int) -> str:
    return f"{max(0, milliseconds_) / 1000:.0f}"
