"""A round of decisions: from the objects of the view to the core, and its decisions into Workload statuses.

An admission is a status write with the Workload's version as a precondition. The next round is decided while such
writes are in flight: what they admit counts. If the outcome of a write is unknown (a lost connection), nothing more is
decided until it has been settled.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from webhook.api import amounts
from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot import slices
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from webhook.cluster.api.leader_writer import NotLeading
from webhook.cluster.background_writes import BackgroundWrites
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core.changes import asks_the_same
from webhook.cluster.core.protocol import Core
from webhook.cluster.fencing import Fence, insist
from webhook.cluster.pace import in_slices
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.workloads import admission_checks
from webhook.cluster.workloads import conditions as workload_conditions
from webhook.cluster.workloads.conditions import DEACTIVATES, EVICTIONS, REPLACED
from webhook.cluster.workloads.events import (
    identity,
    preemption_message,
    tell_admitted,
    tell_deactivated,
    tell_evicted,
    tell_preempted,
    tell_ready,
)
from webhook.jobs.finish import Finish
from webhook.kube.condition_types import (
    ADMITTED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PREEMPTED,
    QUOTA_RESERVED,
)
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.queue.decisions import Admitted, Evicted, Preempted
from webhook.queue.model import BY_ADMISSION_CHECK, BY_PODS_READY_TIMEOUT
from webhook.store.errors import Refused, StoreError, Unavailable
from webhook.store.objects import Object, key_of, version_of

log = logging.getLogger(__name__)
T = TypeVar("T", Admitted, Evicted, Preempted)

SOON_MS: Final = 100
"""Milliseconds until the next round if the outcome of a write is unknown."""


def deactivation(workload: Object, decision: Evicted) -> tuple[str, str] | None:
    """Return cause and message if an eviction also deactivates the workload; else None."""
    if decision.reason == workload_conditions.OVERTIME and not decision.message:
        return decision.reason.removeprefix(DEACTIVATES), "exceeding the maximum execution time"
    if decision.reason.startswith(DEACTIVATES):
        cause = decision.reason.removeprefix(DEACTIVATES)
        return cause, decision.message or f"a rule of evict: {cause}"
    if decision.reason == BY_ADMISSION_CHECK:
        states = admission_checks.states_of(workload)
        rejected = admission_checks.message(states, admission_checks.REJECTED)
        return (BY_ADMISSION_CHECK, rejected) if rejected else None
    begun = find(workload, DEACTIVATION_TARGET) or {}
    return (str(begun["reason"]), str(begun["message"])) if begun.get("status") == "True" else None


def has_to_stop(workload: Object) -> bool:
    """Return whether there is something to evict: a write waits for its turn, and its Workload may end meanwhile.

    Upkeep evicts those without quota that are inactive.
    """
    return holds(workload, QUOTA_RESERVED) and not holds(workload, EVICTED) and not holds(workload, FINISHED)


class DecisionWriter:
    """Runs rounds. Its state is the writes in flight and the evictions that were asked for."""

    def __init__(
        self,
        context: ControllerContext,
        core: Core,
        report: QueueMetrics,
        fence: Fence,
        settings: QueueSettings,
        again: Callable[[], None],
    ) -> None:
        """Take the parts. `fence` knows which Workloads this replica may admit.

        `again` is called when a write fails after its round is over.
        """
        self._view, self._writer, self._events = context.view, context.writer, context.events
        self._clock_ms, self._seconds = context.clocks.milliseconds, context.clocks.monotonic
        self._core, self._report, self._fence, self._settings = core, report, fence, settings
        self._writes = BackgroundWrites(core.in_flight, again)
        self._asked: list[Evicted] = []

    async def run(self) -> int | None:
        """Run a round; return when the core wants another (milliseconds since the epoch), None if it does not.

        Raises NotLeading, an earlier error of a write in the background, and StoreError if an unknown outcome cannot be
        settled.
        """
        self._writes.check()
        await self._settle()
        now = self._clock_ms()
        await in_slices(self._core.catch_up(now))
        started = self._seconds()
        decisions = self._core.decide(now)
        decided = self._seconds()
        seen = {each.workload: self._view.workload(each.workload) for each in decisions.admitted}
        for failed in decisions.failed:
            log.warning("%s is not evicted by a rule that fails: %s", failed.workload, failed.message)
        asked, self._asked = self._asked, []
        await self._begin([*decisions.evicted, *asked], self._evict)
        await self._begin(decisions.preempted, self._preempt)
        await self._begin(decisions.ready, self._ready)
        await self._claim(decisions.admitted)
        await self._begin(decisions.admitted, partial(self._admit, seen))
        self._report.record_round(decisions, decided - started, self._seconds() - decided)
        if self._writes.unknown:
            return self._clock_ms() + SOON_MS
        return self._clock_ms() if not decisions.complete else decisions.next_at

    async def stop(self) -> None:
        """Cancel the writes in flight: the next round settles their outcome."""
        await self._writes.stop()

    def ask(self, decision: Evicted) -> None:
        """Add an eviction that the core cannot decide to the next round."""
        self._asked.append(decision)

    async def follow(self) -> None:
        """Update the core without deciding."""
        now = self._clock_ms()
        await in_slices(self._core.catch_up(now))
        self._core.follow(now)

    async def _claim(self, admitted: Sequence[Admitted]) -> None:
        """Claim the Workloads that are admitted now, and the next candidates. Raises NotLeading, StoreError."""
        await self._fence.claim({each.workload for each in admitted}, self._core.in_flight.keys, self._core.front)

    async def _begin(self, decisions: Sequence[T], write: Callable[[T], Awaitable[None]]) -> None:
        """Start the writes of decisions, in order."""
        for decision in decisions:
            await self._writes.begin(decision.workload, partial(write, decision))

    async def _admit(self, seen: Mapping[str, Object | None], decision: Admitted) -> None:
        """Write an admission, unless the Workload has changed since it was `seen` by the core."""
        workload = self._view.workload(decision.workload)
        is_same = workload is not None and asks_the_same(seen[decision.workload], workload)
        if workload is None or not is_same or not self._fence.is_claimed(decision.workload):
            self._core.in_flight.outdated.add(decision.workload)
            return
        if (
            (old := self._view.workload(slices.replaced(workload))) is not None
            and holds(old, QUOTA_RESERVED)
            and not holds(old, FINISHED)
        ):
            decision = replace(decision, pod_sets=slices.whole(decision.pod_sets, old, workload, self._settings))
            if {pods.name: pods.count for pods in decision.pod_sets} != slices.counts(workload):
                return  # the job has changed meanwhile: the next round decides on the new counts
        queue = self._view.informer(CLUSTER_QUEUE).get(decision.cluster_queue)
        new = workload_conditions.admitted(workload, decision, queue, amounts.text, self._writer.stamp())
        if await self._write(workload, new):
            where = decision.workload, decision.cluster_queue
            log.info("%s admitted in %s" if decision.admitted else "%s quota reserved in %s", *where)
            now = self._clock_ms()
            self._report.workloads.admitted(workload, decision, now)
            tell_admitted(self._events, workload, decision, now)
            if decision.admitted:
                await self._end_replaced(workload)

    async def _ready(self, decision: Admitted) -> None:
        workload = self._view.workload(decision.workload)
        if workload is None or holds(workload, ADMITTED) or holds(workload, EVICTED):
            return
        if await self._write(workload, workload_conditions.ready(workload, self._writer.stamp())):
            log.info("%s admitted in %s: its checks are ready", decision.workload, decision.cluster_queue)
            now = self._clock_ms()
            self._report.workloads.checks_ready(workload, decision, now)
            tell_ready(self._events, workload, decision.cluster_queue, now)
            await self._end_replaced(workload)

    async def _end_replaced(self, workload: Object) -> None:
        """Finish the Workload that an admitted one replaces, as both would count, unless the job's reconciler does."""
        old = self._view.workload(slices.replaced(workload))
        if old is None or holds(old, FINISHED) or at(old, ("metadata", "ownerReferences")):
            return
        message = f"Replaced to accommodate a workload ({identity(workload)}) due to workload slice aggregation"
        if await self._write(old, workload_conditions.finished(old, Finish(REPLACED, message), self._writer.stamp())):
            self._events.tell(old, REPLACED, message)

    async def _preempt(self, decision: Preempted) -> None:
        preemptor = self._view.workload(decision.preemptor)
        queue = self._queue_of(preemptor)
        message = preemption_message(self._view, decision, preemptor, queue)
        victim = self._view.workload(decision.workload)
        if await self._stop(decision.workload, PREEMPTED, message, decision.reason.value):
            self._report.workloads.preempted(queue, decision.reason)
            tell_preempted(self._events, preemptor, victim, message, decision.cluster_queue)

    async def _evict(self, decision: Evicted) -> None:
        workload = self._view.workload(decision.workload)
        if workload is None or not has_to_stop(workload):
            return
        if (why := deactivation(workload, decision)) is not None:
            await self._deactivate(workload, *why)
            return
        message = decision.message or EVICTIONS.get(decision.reason) or f"Evicted by the queue: {decision.reason}"
        if decision.reason == BY_ADMISSION_CHECK:
            states = admission_checks.states_of(workload)
            message = f"Evicted due to {admission_checks.message(states, admission_checks.RETRY)}"
        if decision.reason == BY_PODS_READY_TIMEOUT:
            message = f"{EVICTIONS[decision.reason]} {decision.workload}"
        await self._stop(decision.workload, decision.reason, message, "", decision.requeue_at)

    async def _deactivate(self, workload: Object, cause: str, message: str) -> None:
        """Deactivate and evict a workload. The cause is written first, so that a new leader can complete it."""
        if not holds(workload, DEACTIVATION_TARGET):
            new = workload_conditions.deactivating(workload, cause, message, self._writer.stamp())
            workload = await self._writer.status(workload, new)
        if workload["spec"].get("active") is not False:
            workload = await self._writer.replace({**workload, "spec": {**workload["spec"], "active": False}})
            tell_deactivated(self._events, workload, f"{DEACTIVATES}{cause}", message)
        text = f"{EVICTIONS[DEACTIVATED]} due to {message}"
        await self._stop("/".join(key_of(workload)), f"{DEACTIVATES}{cause}", text, "")

    async def _stop(self, key: str, reason: str, message: str, preemption: str, again: int = 0) -> bool:
        """Evict a Workload; return whether that was written now."""
        workload = self._view.workload(key)
        if workload is None or not has_to_stop(workload):
            return False
        new = workload_conditions.evicted(workload, reason, message, self._writer.stamp(), preemption, again)
        if not await self._write(workload, new):
            return False
        log.info("%s evicted: %s", key, message)
        self._report.workloads.evicted(workload, reason, self._clock_ms())
        tell_evicted(self._events, workload, reason, message)
        return True

    async def _write(self, workload: Object, new: dict[str, Any]) -> bool:
        """Write a status; return whether that succeeded. Raises Unavailable if the outcome is unknown."""
        key = "/".join(key_of(workload))
        try:
            await self._writer.status(workload, new)
        except Unavailable:
            self._writes.unknown[key] = workload
            raise
        except (StoreError, NotLeading) as error:
            if not isinstance(error, Refused):
                self._core.in_flight.outdated.add(key)
            fresh = await self._writer.refresh_workload(workload)
            log.debug("%s is at version %s now", key, version_of(fresh) if fresh is not None else "none")
            return False
        except BaseException:  # cancelled, or an answer that cannot be read
            self._writes.unknown[key] = workload
            raise
        return True

    async def _settle(self) -> None:
        """Settle unknown outcomes: a write that may still be in flight is made to fail.

        Its precondition is the version that it was made for, and any write of ours changes that version.
        """
        for key, sent in list(self._writes.unknown.items()):
            fresh = await insist(partial(self._writer.refresh_workload, sent))
            if fresh is not None and version_of(fresh) == version_of(sent):
                await self._fence.stamp(fresh, self._clock_ms())
            self._writes.settled(key)

    def _queue_of(self, workload: Object | None) -> str:
        """Return the ClusterQueue of a Workload's LocalQueue, "" if none."""
        name, namespace = str(at(workload or {}, ("spec", "queueName")) or ""), key_of(workload)[0] if workload else ""
        return str(at(self._view.informer(LOCAL_QUEUE).get(name, namespace) or {}, ("spec", "clusterQueue")) or "")
