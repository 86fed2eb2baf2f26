"""The life of a Workload as a line of events: what its conditions say, and what this replica saw of it.

An object shows of each kind of event the last one only; what was seen while this replica ran is kept, within bounds.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from webhook.admission.verdict import Verdict
from webhook.admission.wire import Request
from webhook.dashboard.model.workloads import FieldChange, JobRef, LifeEvent
from webhook.dashboard.views.preemptor import preemptor_in
from webhook.jobs.read_job import queue_of
from webhook.kube.condition_types import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
)
from webhook.kube.conditions import conditions_of
from webhook.kube.times import milliseconds
from webhook.record.mask import masked_operations
from webhook.store.objects import Object, key_of

JobOfUid = Callable[[str], JobRef | None]
"""The job of a Workload by the Workload's uid; None where it is not there any more."""
LIVES: Final = 20_000
"""Workloads whose events are kept."""
EVENTS: Final = 50
"""Events that are kept of each."""
SHAPES: Final = 5_000
"""Patches that are kept, of jobs that name a queue."""
NEAR: Final = 2000
"""Milliseconds between what a round decided and the time that the object has for it, at most."""
_WORDS: Final = {
    (QUOTA_RESERVED, "True"): "reserved",
    (ADMITTED, "True"): "admitted",
    (EVICTED, "True"): "evicted",
    (PREEMPTED, "True"): "preempted",
    (REQUEUED, "True"): "requeued",
    (PODS_READY, "True"): "ready",
    (DEACTIVATION_TARGET, "True"): "deactivated",
    (FINISHED, "True"): "finished",
}
_ENDS: Final = ("evicted", "preempted", "deactivated", "finished")
"""Events whose reason is told."""
_ORDER: Final = (
    "created", "shaped", "denied", "queued", "requeued", "reserved", "admitted", "ready", "preempted", "deactivated",
    "evicted", "finished", "deleted",
)  # fmt: skip
"""Of one second, where the object alone tells: its times have no finer grain."""


def happened(old: Object | None, new: Object, job: JobOfUid) -> list[LifeEvent]:
    """Return what a change of a Workload tells of its life, in order; with `old` None, all that it tells now."""
    before = {str(row.get("type")): row for row in conditions_of(old)} if old is not None else {}
    events = [] if old is not None else [_queued(new)]
    for row in conditions_of(new):
        kind = str(row.get("type"))
        word = _WORDS.get((kind, str(row.get("status"))))
        was = before.get(kind) or {}
        same = (was.get("status"), was.get("lastTransitionTime")) == (row.get("status"), row.get("lastTransitionTime"))
        if word is not None and not same:
            events.append(_event(word, row, _queue(old, new), job))
    return sorted(_merged(events), key=_place(events))


def _queued(new: Object) -> LifeEvent:
    queue = str((new.get("spec") or {}).get("queueName") or "")
    return LifeEvent(milliseconds(new["metadata"].get("creationTimestamp")), "queued", queue=queue)


def _event(word: str, row: dict[str, Any], queue: str, job: JobOfUid) -> LifeEvent:
    message = str(row.get("message") or "")
    taken = preemptor_in(message)
    empty = taken is not None or message in (f"Quota reserved in ClusterQueue {queue}", "The workload is admitted")
    return LifeEvent(
        milliseconds(row.get("lastTransitionTime")),
        word,
        queue=queue if word in ("reserved", "admitted", "evicted") else "",
        detail="" if empty else message,
        reason=str(row.get("reason") or "") if word in _ENDS else "",
        preemptor=_preemptor(*taken, job) if word == "preempted" and taken is not None else None,
    )


def _preemptor(uid: str, queue: str, job: JobOfUid) -> JobRef:
    found = job(uid) if uid else None
    return JobRef(cluster_queue=queue) if found is None else msgspec.structs.replace(found, cluster_queue=queue)


def _merged(events: list[LifeEvent]) -> list[LifeEvent]:
    """Leave out what another event of the same moment says better: who preempts evicts, what is admitted has quota."""
    told = {(event.what, event.at) for event in events}

    def said_better(event: LifeEvent) -> bool:
        better = {"evicted": "preempted", "reserved": "admitted"}.get(event.what)
        return (better, event.at) in told and event.reason in ("", PREEMPTED)

    return [event for event in events if not said_better(event)]


def _place(events: list[LifeEvent]) -> Callable[[LifeEvent], tuple[int, float]]:
    """Return the order of events of one object: without quota now, it was queued again behind its last eviction."""
    places: dict[str, float] = {word: number for number, word in enumerate(_ORDER)}
    if not any(event.what in ("reserved", "admitted") for event in events):
        places["requeued"] = places["evicted"] + 0.5
    return lambda event: (event.at // 1000, places[event.what])


def _queue(old: Object | None, new: Object) -> str:
    for obj in (new, old):
        admission = ((obj or {}).get("status") or {}).get("admission") or {}
        if admission.get("clusterQueue"):
            return str(admission["clusterQueue"])
    return ""


class Lives:
    """What was seen of Workloads, and how jobs were shaped; the oldest goes first."""

    def __init__(self, job: JobOfUid) -> None:
        self._job = job
        self._seen: OrderedDict[str, deque[LifeEvent]] = OrderedDict()
        self._shaped: OrderedDict[tuple[str, str, str], LifeEvent] = OrderedDict()

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Take note of a change of a Workload."""
        if new is None or old is None:
            return
        events = happened(old, new, self._job)
        if not events:
            return
        key = "/".join(key_of(new))
        if key not in self._seen:
            self._seen[key] = deque(maxlen=EVENTS)
            if len(self._seen) > LIVES:
                self._seen.popitem(last=False)
        self._seen[key].extend(events)

    def reviewed(self, request: Request, verdict: Verdict, now: int) -> None:
        """Take note of how a job that names a queue was shaped; values of variables are left out."""
        if not verdict.changed_by or request.operation != "CREATE" or not request.name or request.dry_run:
            return
        if verdict.object is None or queue_of(verdict.object) is None:
            return
        changes = tuple(
            FieldChange(step["op"], step["path"], msgspec.Raw(msgspec.json.encode(step.get("value"))))
            for step in masked_operations(request, verdict.patch)
        )
        shaped = LifeEvent(now, "shaped", by=", ".join(verdict.changed_by), changes=changes)
        self._shaped[request.namespace, request.kind.kind, request.name] = shaped
        if len(self._shaped) > SHAPES:
            self._shaped.popitem(last=False)

    def of(self, workload: Object, past: Iterable[LifeEvent] = ()) -> tuple[LifeEvent, ...]:
        """Return the life of a Workload in order: what was seen, as it came; what a journal has; what the object says.

        Each is told once. A journal's events are of the rounds that decided, and know more than conditions do.
        """
        seen = list(self._seen.get("/".join(key_of(workload)), ()))
        told = list(past)
        known = [_with_detail(event, told) for event in seen]
        known += [event for event in told if not _among(event, seen)]
        own = [event for event in happened(None, workload, self._job) if not _among(event, known)]
        first = [event for event in own if event.what == "queued"]
        rest = [event for event in own if event.what != "queued"]
        return tuple(sorted([*first, *known, *rest], key=lambda event: event.at // 1000))

    def shaped(self, namespace: str, kind: str, name: str) -> LifeEvent | None:
        """Return how a job was shaped; None where this replica did not see it."""
        return self._shaped.get((namespace, kind, name))


def _among(event: LifeEvent, others: Iterable[LifeEvent]) -> bool:
    return any(other.what == event.what and abs(other.at - event.at) < NEAR for other in others)


def _with_detail(event: LifeEvent, told: Iterable[LifeEvent]) -> LifeEvent:
    """Return an event with what a journal says of it, where the object says nothing."""
    found = next((other for other in told if other.detail and _among(event, (other,))), None)
    return event if found is None or event.detail else msgspec.structs.replace(event, detail=found.detail)
