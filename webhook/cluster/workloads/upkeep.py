"""Keeps the status of each Workload as its queues and the core say: what Kueue's Workload controller does.

A Workload is looked at when it, its queues or its explanation changed, and when its time has come. A status that
differs only in its messages is written once a minute at most, and of all Workloads five such in a second: with 10,000
that wait the numbers in a message may be half an hour old, while another reason is written at once. The first reason
of those that came takes a share of the time only while decisions are written: most of them are admitted before that.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from webhook.api.configuration.sections import Retention
from webhook.api.snapshot.quota import milliseconds
from webhook.api.snapshot.reader import MALFORMED
from webhook.api.snapshot.workload import deadline_of
from webhook.cluster.api.finalizers import is_marked, let_go
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, WORKLOAD_CLASS
from webhook.cluster.core.changes import matters_to_core
from webhook.cluster.core.protocol import Core
from webhook.cluster.means import Means
from webhook.cluster.pace import Slice, in_slices
from webhook.cluster.workloads import reserved, waiting
from webhook.cluster.workloads.affected import Cause, affected, every_workload
from webhook.cluster.workloads.conditions import (
    ADMITTED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVALUATION,
    EVICTED,
    FINISHED,
    OVERTIME,
    QUOTA_RESERVED,
    WAITING,
    cluster_queue_of,
    released,
    settled,
)
from webhook.cluster.workloads.waiting import CLEARED, GATED, Around
from webhook.jobs.describe import at
from webhook.kube.conditions import conditions_of, find, holds
from webhook.kube.gvk import GroupVersionKind
from webhook.queue.decisions import Evicted, Pending
from webhook.store.errors import NotFound, Refused, StoreError
from webhook.store.objects import Object, key_of, merge

log = logging.getLogger(__name__)

AGAIN: Final = 60_000
"""Milliseconds between two writes of one Workload where only messages differ, and after a write that was refused."""
TURN: Final = 200
"""Milliseconds between two such writes of any Workloads."""
FIRST: Final = 0.25
"""Seconds of a run in which first reasons are written in any case; after that until a decision is being written."""
_AROUND: Final = frozenset((gvk.group, gvk.kind) for gvk in (LOCAL_QUEUE, CLUSTER_QUEUE, WORKLOAD_CLASS))


class Upkeep:
    """Looks at Workloads, and writes what is to be written; `evict` is asked for one that the core cannot see."""

    def __init__(
        self,
        means: Means,
        core: Core,
        told: Mapping[str, Pending],
        evict: Callable[[Evicted], None],
        retention: Retention,
    ) -> None:
        self._view, self._writer, self._events = means.view, means.writer, means.events
        self._clock_ms, self._seconds, self._evict = means.clocks.milliseconds, means.clocks.monotonic, evict
        self._core, self._told, self._retention = core, told, retention
        self._due: dict[str, None] = {}
        self._new: dict[str, None] = {}
        self._all, self._causes = False, dict[Cause, None]()
        self._later: list[tuple[int, str]] = []
        self._alarms: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._waiting: dict[str, None] = {}
        self._turns: dict[str, None] = {}
        self._next_turn = 0

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Take note of a change in the view; what it concerns is named by the next run."""
        obj = new if new is not None else old
        if obj is None:
            return
        if (gvk.group, gvk.kind) == (WORKLOAD.group, WORKLOAD.kind):
            key = "/".join(key_of(obj))
            if new is not None:
                self._due[key] = None
            else:
                self._forget(key)
        elif (gvk.group, gvk.kind) in _AROUND and matters_to_core(gvk, old, new):
            self._causes[gvk.kind, *key_of(obj)] = None

    def look_at_all(self) -> None:
        """Look at every Workload the next time: this replica leads since now, and the turns before were another's."""
        self._all = True
        self._waiting.clear()

    def _forget(self, key: str) -> None:
        self._written.pop(key, None)
        self._waiting.pop(key, None)

    def _look_at(self, key: str, when: int) -> None:
        """Look at a Workload at a time, though nothing changed by then; one alarm each is enough, the earliest."""
        if self._alarms.get(key, when + 1) > when:
            self._alarms[key] = when
            heapq.heappush(self._later, (when, key))

    async def run(self, news: Iterable[str]) -> None:
        """Look at what changed, or whose time has come; `news` are keys of other explanations. Raises NotLeading."""
        self._due.update(dict.fromkeys(news))
        now = self._clock_ms()
        while self._later and self._later[0][0] <= now:
            _, key = heapq.heappop(self._later)
            self._alarms.pop(key, None)
            self._due[key] = None
        self._turns = dict.fromkeys(self._hand_out(now))
        self._due.update(self._turns)
        causes, self._causes = self._causes, {}
        named = every_workload(self._view) if self._all else affected(self._view, causes)
        self._all = False
        self._due.update(dict.fromkeys(await in_slices(named)))
        due, self._due = self._due, {}
        inactive = self._core.inactive()
        this = Slice()
        for key in due:
            await this.give_way()
            workload = self._find(key)
            if workload is not None and conditions_of(workload):
                await self._try(key, workload, inactive)
            else:
                self._new[key] = None
        until = self._seconds() + FIRST
        while self._new and (self._seconds() < until or not self._core.under_way):
            await this.give_way()
            key = next(iter(self._new))
            del self._new[key]
            if (workload := self._find(key)) is not None:
                await self._try(key, workload, inactive)

    def _find(self, key: str) -> Object | None:
        namespace, _, name = key.partition("/")
        return self._view.mirror(WORKLOAD).get(name, namespace)

    async def _try(self, key: str, workload: Object, inactive: Mapping[str, str]) -> None:
        """Look at a Workload; what fails is tried again."""
        try:
            await self._look(key, workload, inactive)
        except Refused as error:
            log.error("cannot write the status of Workload %s: %s", key, error)
            self._look_at(key, self._clock_ms() + AGAIN)
        except StoreError as error:
            log.debug("%s will be retried: %s", key, error)
            self._due[key] = None
        except MALFORMED as error:
            log.error("%s is malformed and is skipped: %r", key, error)

    async def _look(self, key: str, workload: Object, inactive: Mapping[str, str]) -> None:
        if holds(workload, FINISHED):
            await self._retire(key, workload)
            return
        if await self._has_other_priority(workload):
            return
        if not holds(workload, QUOTA_RESERVED):
            await self._wait(key, workload, inactive)
        elif not holds(workload, EVICTED):
            await self._hold(key, workload)
        elif not waiting.is_active(workload) and not at(workload, ("metadata", "ownerReferences")):
            await self._write(key, workload, released(workload, self._writer.stamp()))
        else:
            await self._write(key, workload, waiting.still_held(workload, self._writer.stamp()))
            self._look_after_back_off(key, workload)

    async def _wait(self, key: str, workload: Object, inactive: Mapping[str, str]) -> None:
        """See to one that holds no quota."""
        if holds(workload, DEACTIVATION_TARGET) and waiting.is_active(workload):
            await self._writer.replace({**workload, "spec": {**workload["spec"], "active": False}})
            return
        local = self._local(workload)
        target = str(at(local or {}, ("spec", "clusterQueue")) or "")
        found = self._view.mirror(CLUSTER_QUEUE).get(target)
        around = Around(local, target, found, target in inactive, self._told.get(key), self._core.pod_sets(key))
        await self._write(key, workload, waiting.status_of(workload, around, self._writer.stamp()))
        self._look_after_back_off(key, workload)

    def _look_after_back_off(self, key: str, workload: Object) -> None:
        again = milliseconds(at(workload, ("status", "requeueState", "requeueAt")))
        if again > self._clock_ms():
            self._look_at(key, again)

    async def _hold(self, key: str, workload: Object) -> None:
        """See to one that holds quota; who is admitted is the core's, unless its ClusterQueue is gone."""
        if find(workload, WAITING) is not None:
            await self._write(key, workload, settled(workload))
            return
        name = cluster_queue_of(workload)
        target = self._view.mirror(CLUSTER_QUEUE).get(name)
        if holds(workload, ADMITTED):
            self._forget(key)
            if target is None:
                self._beyond_queues(key, workload, name)
            return
        around = Around(self._local(workload), name, target)
        await self._write(key, workload, reserved.status_of(workload, around, self._writer.stamp()))

    def _beyond_queues(self, key: str, workload: Object, queue: str) -> None:
        """Evict an admitted one that is set inactive, or whose time is over, though its ClusterQueue is gone."""
        deadline = deadline_of(workload)
        if not waiting.is_active(workload):
            self._evict(Evicted(key, queue, DEACTIVATED))
        elif deadline and deadline <= self._clock_ms():
            self._evict(Evicted(key, queue, OVERTIME))
        elif deadline:
            self._look_at(key, deadline)

    def _local(self, workload: Object) -> Object | None:
        name = str(at(workload, ("spec", "queueName")) or "")
        return self._view.mirror(LOCAL_QUEUE).get(name, key_of(workload)[0])

    async def _has_other_priority(self, workload: Object) -> bool:
        """Take over the value of the class of one without a job; say whether that was written."""
        ref = at(workload, ("spec", "priorityClassRef")) or {}
        if ref.get("kind") != WORKLOAD_CLASS.kind or at(workload, ("metadata", "ownerReferences")):
            return False
        found = self._view.mirror(WORKLOAD_CLASS).get(str(ref.get("name")))
        if found is None or found.get("value") == at(workload, ("spec", "priority")):
            return False
        await self._writer.replace({**workload, "spec": {**workload["spec"], "priority": found.get("value")}})
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

    def _has_turn(self, key: str, now: int) -> bool:
        """Say whether the messages of a Workload may be written; it is looked at again when they may."""
        if (again := self._written.get(key, -AGAIN) + AGAIN) > now:
            self._look_at(key, again)
            return False
        if key in self._turns:
            return True
        if self._waiting or self._next_turn > now:
            self._waiting[key] = None
            return False
        self._next_turn = now + TURN
        return True

    def _hand_out(self, now: int) -> Iterator[str]:
        """Give those whose turn it is, the longest waiting first: one for each turn that has passed."""
        while self._waiting and self._next_turn <= now:
            self._next_turn += TURN
            key = next(iter(self._waiting))
            del self._waiting[key]
            yield key

    def _tell(self, before: Object, after: Object) -> None:
        """Tell by an Event why one waits, where that is another reason than before."""
        old, new = find(before, QUOTA_RESERVED) or {}, find(after, QUOTA_RESERVED) or {}
        reason, message = str(new.get("reason")), str(new.get("message"))
        if new.get("status") != "False" or (old.get("reason"), old.get("message")) == (reason, message):
            return
        if reason == GATED:
            gate = waiting.gate_of(after)
            self._events.tell(after, GATED, f"Workload admission is gated by: {gate}")
        elif message == CLEARED:
            self._events.tell(after, "AdmissionGateCleared", "Admission gate cleared, workload is now admissible")
        elif old.get("reason") != reason and reason not in (EVALUATION, DEACTIVATED):
            self._events.tell(after, reason, message, warning=True)

    async def _retire(self, key: str, workload: Object) -> None:
        """Delete one that has finished, and was kept for long enough."""
        self._forget(key)
        if self._retention.after_finished is None or at(workload, ("metadata", "deletionTimestamp")):
            return
        ended = milliseconds((find(workload, FINISHED) or {}).get("lastTransitionTime"))
        until = ended + self._retention.after_finished
        if until > self._clock_ms():
            self._look_at(key, until)
            return
        if is_marked(workload):
            workload = await self._writer.metadata(workload, {"finalizers": let_go(workload)})
        try:
            await self._writer.delete(workload)
        except NotFound:
            return
        self._events.tell(workload, "Deleted", "Deleted finished workload due to elapsed retention")


def _skeleton(workload: Object) -> tuple[Any, ...]:
    """Give what of a status is no message."""
    status = workload.get("status") or {}
    rows = sorted((row["type"], row["status"], row.get("reason")) for row in conditions_of(workload))
    return rows, {name: value for name, value in status.items() if name != "conditions" and value is not None}
