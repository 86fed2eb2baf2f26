"""Keeps the status of each Workload in line with its queues and the core, as Kueue's Workload controller does.

A Workload is processed when it, its queues or its explanation changed, and at times that it waits for. A status in
which only messages differ is written at most once a minute per Workload, and five times a second overall: with 10,000
pending, numbers in a message may be half an hour old, while a new reason is written at once. Workloads without
conditions are told beside that, and not too fast while decisions are being written: most are admitted before their
turn.
"""

from __future__ import annotations

import heapq
import logging
from asyncio import sleep
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.api.configuration.sections import Retention
from webhook.api.job_to_workload import JOB_UID_LABEL
from webhook.api.snapshot.reader import MALFORMED
from webhook.api.snapshot.workload_times import deadline_of
from webhook.cluster.api.finalizers import is_marked, let_go
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, WORKLOAD_CLASS
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core.changes import matters_to_core
from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import CHUNK, SLICE_SECONDS, Slice, in_slices
from webhook.cluster.workloads import pending_status, reserved_status
from webhook.cluster.workloads.affected import Cause, affected, every_workload
from webhook.cluster.workloads.conditions import (
    EVALUATION,
    OVERTIME,
    WAITING,
    checked,
    cluster_queue_of,
    released,
    settled,
)
from webhook.cluster.workloads.pending_status import CLEARED, GATED, Around
from webhook.cluster.workloads.retention import WorkloadRetention
from webhook.kube.condition_types import ADMITTED, DEACTIVATED, DEACTIVATION_TARGET, EVICTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import conditions_of, find, holds
from webhook.kube.fields import at
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.times import milliseconds
from webhook.queue.decisions import Evicted, Pending
from webhook.store.errors import Refused, StoreError
from webhook.store.objects import Object, key_of, merge

log = logging.getLogger(__name__)

REWRITE_MS: Final = 60_000
"""Milliseconds between two writes of one Workload if only messages differ, and after a refused write."""
TURN: Final = 200
"""Milliseconds between two such writes of any Workloads."""
FIRST: Final = 0.1
"""Seconds from one Workload without conditions to the next, for each decision that is being written meanwhile."""
_AROUND: Final = frozenset((gvk.group, gvk.kind) for gvk in (LOCAL_QUEUE, CLUSTER_QUEUE, WORKLOAD_CLASS))


class Upkeep:
    """Updates the status of Workloads; `evict` is called for evictions that the core cannot decide."""

    def __init__(
        self,
        context: ControllerContext,
        core: Core,
        explanations: Mapping[str, Pending],
        evict: Callable[[Evicted], None],
        retention: Retention,
    ) -> None:
        self._view, self._writer, self._events = context.view, context.writer, context.events
        self._clock_ms, self._seconds, self._evict = context.clocks.milliseconds, context.clocks.monotonic, evict
        self._core, self._explanations = core, explanations
        self._retention = WorkloadRetention(context, retention)
        self._due: dict[str, None] = {}
        self._new: dict[str, None] = {}
        self._inactive: Mapping[str, str] = {}
        self._all, self._causes = False, dict[Cause, None]()
        self._later: list[tuple[int, str]] = []
        self._alarms: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._waiting: dict[str, None] = {}
        self._turn = ""
        self._next_turn = 0

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Record a change in the view; the next run finds the affected Workloads."""
        obj = new if new is not None else old
        if obj is None:
            return
        if (gvk.group, gvk.kind) == (WORKLOAD.group, WORKLOAD.kind):
            key = "/".join(key_of(obj))
            if new is not None:
                self._due[key] = None
            else:
                self._due.pop(key, None)
                self._forget(key)
                self._silence(key)
        elif (gvk.group, gvk.kind) in _AROUND and matters_to_core(gvk, old, new):
            self._causes[gvk.kind, *key_of(obj)] = None

    def look_at_all(self) -> None:
        """Process every Workload in the next run: this replica has become the leader."""
        self._all = True
        self._waiting.clear()
        self._turn = ""  # the lead may have been lost in the middle of one
        self._new.clear()

    def _forget(self, key: str) -> None:
        self._written.pop(key, None)
        self._waiting.pop(key, None)

    def _look_at(self, key: str, when: int) -> None:
        """Process a Workload at `when` (milliseconds since the epoch), or earlier if that was requested before."""
        if self._alarms.get(key, when + 1) > when:
            self._alarms[key] = when
            heapq.heappush(self._later, (when, key))

    def _silence(self, key: str) -> None:
        """Forget when to process a Workload that is gone: with a retention of weeks those of all jobs would be kept."""
        if self._alarms.pop(key, None) is not None and len(self._later) > 2 * len(self._alarms) + CHUNK:
            self._later = [(when, known) for known, when in self._alarms.items()]
            heapq.heapify(self._later)

    async def run(self, news: Mapping[str, bool]) -> None:
        """Process what has changed or is due. Raises NotLeading.

        `news` are keys with a new explanation, and whether it has a new reason: else only its numbers are new.
        """
        now = self._clock_ms()
        while self._later and self._later[0][0] <= now:
            when, key = heapq.heappop(self._later)
            if self._alarms.get(key) == when:
                del self._alarms[key]
                self._due[key] = None
        for key, is_reason in news.items():
            if is_reason or not self._has_to_wait(key, now):
                self._due[key] = None
        causes, self._causes = self._causes, {}
        named = every_workload(self._view) if self._all else affected(self._view, causes)
        self._all = False
        self._due.update(dict.fromkeys(await in_slices(named)))
        due, self._due = self._due, {}
        self._inactive = self._core.inactive()
        time_slice = Slice()
        for key in due:
            await time_slice.give_way(SLICE_SECONDS)
            workload = self._view.workload(key)
            if workload is not None and conditions_of(workload):
                await self._try(key, workload)
            else:
                self._new[key] = None
        while self._waiting and self._next_turn <= now:
            await time_slice.give_way(SLICE_SECONDS)
            self._turn = next(iter(self._waiting))
            del self._waiting[self._turn]
            if (workload := self._view.workload(self._turn)) is not None:
                await self._try(self._turn, workload)
            self._turn = ""

    async def run_new(self) -> None:
        """Process Workloads without conditions that runs have found, oldest first, until none is left.

        Raises NotLeading.
        """
        time_slice = Slice()
        while self._new:
            await time_slice.give_way()
            key, began = next(iter(self._new)), self._seconds()
            del self._new[key]
            if (workload := self._view.workload(key)) is None:
                continue
            await self._try(key, workload)
            others = len(self._core.in_flight.keys)
            if others and self._view.workload(key) is not workload:  # the view has the answer to a write
                await sleep(max(0.0, others * FIRST - (self._seconds() - began)))

    async def _try(self, key: str, workload: Object) -> None:
        """Process a Workload; failures are retried."""
        try:
            await self._look(key, workload)
        except Refused as error:
            log.error("cannot write the status of Workload %s: %s", key, error)
            self._look_at(key, self._clock_ms() + REWRITE_MS)
        except StoreError as error:
            log.debug("%s will be retried: %s", key, error)
            self._due[key] = None
        except MALFORMED as error:
            log.error("%s is malformed and is skipped: %r", key, error)

    async def _look(self, key: str, workload: Object) -> None:
        if _is_orphan(workload):
            await self._writer.metadata(workload, {"finalizers": let_go(workload)})
            return
        if holds(workload, FINISHED):
            self._forget(key)
            if (until := await self._retention.look(workload)) is not None:
                self._look_at(key, until)
            return
        if await self._has_other_priority(workload):
            return
        if not holds(workload, QUOTA_RESERVED):
            await self._wait(key, workload)
        elif not holds(workload, EVICTED):
            await self._hold(key, workload)
        elif not pending_status.is_active(workload) and _is_without_job(workload):
            await self._write(key, workload, released(workload, self._writer.stamp()))
        else:
            await self._write(key, workload, pending_status.still_held(workload, self._writer.stamp()))
            self._look_after_back_off(key, workload)

    async def _wait(self, key: str, workload: Object) -> None:
        """Update a Workload without quota."""
        if holds(workload, DEACTIVATION_TARGET) and pending_status.is_active(workload):
            await self._writer.replace({**workload, "spec": {**workload["spec"], "active": False}})
            return
        local = self._local(workload)
        target = str(at(local or {}, ("spec", "clusterQueue")) or "")
        queue = self._view.informer(CLUSTER_QUEUE).get(target)
        pending, pod_sets = self._explanations.get(key), self._core.pod_sets(key)
        around = Around(local, target, queue, target in self._inactive, pending, pod_sets)
        await self._write(key, workload, pending_status.status_of(workload, around, self._writer.stamp()))
        self._look_after_back_off(key, workload)

    def _look_after_back_off(self, key: str, workload: Object) -> None:
        again = milliseconds(at(workload, ("status", "requeueState", "requeueAt")))
        if again > self._clock_ms():
            self._look_at(key, again)

    async def _hold(self, key: str, workload: Object) -> None:
        """Update a Workload with quota. The core admits, unless the ClusterQueue is gone."""
        if find(workload, WAITING) is not None:
            await self._write(key, workload, settled(workload))
            return
        name = cluster_queue_of(workload)
        target = self._view.informer(CLUSTER_QUEUE).get(name)
        if holds(workload, ADMITTED):
            self._forget(key)
            if target is None:
                self._beyond_queues(key, workload, name)
            else:
                await self._write(key, workload, checked(workload, target, self._writer.stamp()))
            return
        around = Around(self._local(workload), name, target)
        await self._write(key, workload, reserved_status.status_of(workload, around, self._writer.stamp()))

    def _beyond_queues(self, key: str, workload: Object, queue: str) -> None:
        """Evict an admitted Workload that is inactive or over its time, although its ClusterQueue is gone."""
        deadline = deadline_of(workload)
        if not pending_status.is_active(workload):
            self._evict(Evicted(key, queue, DEACTIVATED))
        elif deadline and deadline <= self._clock_ms():
            self._evict(Evicted(key, queue, OVERTIME))
        elif deadline:
            self._look_at(key, deadline)

    def _local(self, workload: Object) -> Object | None:
        name = str(at(workload, ("spec", "queueName")) or "")
        return self._view.informer(LOCAL_QUEUE).get(name, key_of(workload)[0])

    async def _has_other_priority(self, workload: Object) -> bool:
        """Update the priority of a Workload without a job from its class; return whether it was written."""
        ref = at(workload, ("spec", "priorityClassRef")) or {}
        if ref.get("kind") != WORKLOAD_CLASS.kind or at(workload, ("metadata", "ownerReferences")):
            return False
        class_ = self._view.informer(WORKLOAD_CLASS).get(str(ref.get("name")))
        if class_ is None or class_.get("value") == at(workload, ("spec", "priority")):
            return False
        await self._writer.replace({**workload, "spec": {**workload["spec"], "priority": class_.get("value")}})
        return True

    async def _write(self, key: str, workload: Object, status: dict[str, Any]) -> None:
        old = workload.get("status") or {}
        if merge(old, status) == old:
            self._waiting.pop(key, None)
            return
        now = self._clock_ms()
        if _skeleton(workload) == _skeleton({"status": status}) and not self._has_turn(key, now):
            return
        self._forget(key)
        self._written[key] = now
        self._tell(workload, await self._writer.status(workload, status))

    def _has_to_wait(self, key: str, now: int) -> bool:
        """Return whether a status may not be written if only messages differ; if so, it is processed later."""
        if key in self._waiting:
            return True
        again = self._written.get(key, -REWRITE_MS) + REWRITE_MS
        if again > now:
            self._look_at(key, again)
        return again > now

    def _has_turn(self, key: str, now: int) -> bool:
        """Take the next turn to write a status in which only messages differ; if it is another's, wait in line."""
        if key == self._turn:
            self._next_turn += TURN
            return True
        if self._has_to_wait(key, now):
            return False
        if self._waiting or self._next_turn > now:
            self._waiting[key] = None
            return False
        self._next_turn = now + TURN
        return True

    def _tell(self, before: Object, after: Object) -> None:
        """Record an Event if the reason for waiting has changed."""
        old, new = find(before, QUOTA_RESERVED) or {}, find(after, QUOTA_RESERVED) or {}
        reason, message = str(new.get("reason")), str(new.get("message"))
        if new.get("status") != "False" or (old.get("reason"), old.get("message")) == (reason, message):
            return
        if reason == GATED:
            gate = pending_status.gate_of(after)
            self._events.tell(after, GATED, f"Workload admission is gated by: {gate}")
        elif message == CLEARED:
            self._events.tell(after, "AdmissionGateCleared", "Admission gate cleared, workload is now admissible")
        elif old.get("reason") != reason and reason not in (EVALUATION, DEACTIVATED):
            self._events.tell(after, reason, message, warning=True)


def _is_orphan(workload: Object) -> bool:
    """Return whether a Workload is being deleted and nobody else takes our finalizer off it, as it has no owner.

    Kueue's `isOrphanedWorkload`. The reconciler of jobs takes it off one that lost its job.
    """
    metadata = workload["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("ownerReferences") or not is_marked(workload):
        return False
    return holds(workload, FINISHED) or _is_without_job(workload)


def _is_without_job(workload: Object) -> bool:
    """Return whether a Workload was made by hand, so that no pods are known to use its quota.

    One that lost its job, by its label, holds its quota until the pods of that are gone.
    """
    metadata = workload["metadata"]
    return not metadata.get("ownerReferences") and JOB_UID_LABEL not in (metadata.get("labels") or {})


def _skeleton(workload: Object) -> tuple[Any, ...]:
    """Return a status without its messages."""
    status = workload.get("status") or {}
    rows = sorted((row["type"], row["status"], row.get("reason")) for row in conditions_of(workload))
    return rows, {name: value for name, value in status.items() if name != "conditions" and value is not None}
