"""The life of a Workload as a line of events: what its conditions say, and what this replica saw of it.

An object shows of each kind of event the last one only; what was seen while this replica ran is kept, within bounds.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from webhook.admission.verdict import Verdict
from webhook.admission.wire import Request
from webhook.api.snapshot.quota import milliseconds
from webhook.dashboard.model.workloads import FieldChange, LifeEvent
from webhook.jobs.describe import queue_of
from webhook.kube.conditions import conditions_of
from webhook.offline.record.mask import masked_operations
from webhook.store.objects import Object, key_of

LIVES: Final = 20_000
"""Workloads whose events are kept."""
EVENTS: Final = 50
"""Events that are kept of each."""
SHAPES: Final = 5_000
"""Patches that are kept, of jobs that name a queue."""
_WORDS: Final = {
    ("QuotaReserved", "True"): "reserved",
    ("Admitted", "True"): "admitted",
    ("Evicted", "True"): "evicted",
    ("Preempted", "True"): "preempted",
    ("Requeued", "True"): "requeued",
    ("PodsReady", "True"): "ready",
    ("DeactivationTarget", "True"): "deactivated",
    ("Finished", "True"): "finished",
}


def happened(old: Object | None, new: Object) -> Iterator[LifeEvent]:
    """Give what a change of a Workload tells of its life; with `old` None, all that it tells now."""
    before = {str(row.get("type")): row for row in conditions_of(old)} if old is not None else {}
    if old is None:
        queue = str((new.get("spec") or {}).get("queueName") or "")
        yield LifeEvent(milliseconds(new["metadata"].get("creationTimestamp")), "queued", queue=queue)
    for row in conditions_of(new):
        word = _WORDS.get((str(row.get("type")), str(row.get("status"))))
        was = before.get(str(row.get("type"))) or {}
        if word is not None and (was.get("status"), was.get("lastTransitionTime")) != (
            row.get("status"),
            row.get("lastTransitionTime"),
        ):
            yield LifeEvent(
                milliseconds(row.get("lastTransitionTime")),
                word,
                by=str(row.get("reason") or "") if word in ("evicted", "preempted") else "",
                queue=_queue(old, new) if word in ("reserved", "admitted", "evicted", "preempted") else "",
                detail=str(row.get("message") or ""),
            )


def _queue(old: Object | None, new: Object) -> str:
    for obj in (new, old):
        admission = ((obj or {}).get("status") or {}).get("admission") or {}
        if admission.get("clusterQueue"):
            return str(admission["clusterQueue"])
    return ""


class Lives:
    """What was seen of Workloads, and how jobs were shaped; the oldest goes first."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, deque[LifeEvent]] = OrderedDict()
        self._shaped: OrderedDict[tuple[str, str, str], LifeEvent] = OrderedDict()

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Take note of a change of a Workload."""
        if new is None or old is None:
            return
        events = list(happened(old, new))
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

    def of(self, workload: Object) -> list[LifeEvent]:
        """Give what a Workload says of its life, and what was seen of it, in no order."""
        return [*happened(None, workload), *self._seen.get("/".join(key_of(workload)), ())]

    def shaped(self, namespace: str, kind: str, name: str) -> LifeEvent | None:
        """Give how a job was shaped; None where this replica did not see it."""
        return self._shaped.get((namespace, kind, name))


def in_time(events: Iterable[LifeEvent]) -> tuple[LifeEvent, ...]:
    """Sort events, each once: the object and the memory may tell of the same."""
    order = {word: number for number, word in enumerate(_ORDER)}
    unique: dict[tuple[int, str], LifeEvent] = {}
    for event in events:
        unique.setdefault((event.at // 1000, event.what), event)
    return tuple(sorted(unique.values(), key=lambda event: (event.at // 1000, order.get(event.what, len(order)))))


_ORDER: Final = (
    "created", "shaped", "denied", "queued", "requeued", "reserved", "admitted", "ready", "preempted", "deactivated",
    "evicted", "finished", "deleted",
)  # fmt: skip
"""Of one second: times of objects have no finer grain."""
