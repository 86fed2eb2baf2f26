"""The controller of the queues: view, rounds of decisions, status updates and reconciliation of jobs.

It has no state of its own that outlives it: a new leader, or a restarted process, lists everything and continues. The
same controller runs on an API server and on the store in memory.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final

from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import ADMISSION_CHECK, CLUSTER_QUEUE, FLAVOR, PARENTS, QUEUE_KINDS, TOPOLOGY, WORKLOAD
from webhook.cluster.api.leader import Leader
from webhook.cluster.api.leader_writer import LeaderWriter, NotLeading
from webhook.cluster.api.view import View
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core.changes import OF_THE_CORE, matters_to_core
from webhook.cluster.core.explanations import Explainer
from webhook.cluster.core.protocol import Core
from webhook.cluster.decision_writer import DecisionWriter
from webhook.cluster.failure_recovery import GATE, FailureRecovery
from webhook.cluster.fencing import Fence, insist
from webhook.cluster.jobs.affected import AffectedJobs
from webhook.cluster.jobs.managed import MANAGED_KINDS, JobKey, Opted, key_of_job, key_of_maker, keys_of_parents
from webhook.cluster.jobs.reconciler import Reconciler
from webhook.cluster.jobs.workqueue import WorkQueue
from webhook.cluster.provisioning.provisioner import Provisioner
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.queue_status_writer import QueueStatusWriter
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.queues.transitions import Transitions
from webhook.cluster.repeater import Repeater, waited
from webhook.cluster.workloads.conditions import WAITING
from webhook.cluster.workloads.upkeep import Upkeep
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import POD, GroupVersionKind
from webhook.queue.decisions import Evicted
from webhook.store.errors import StoreError
from webhook.store.objects import Object

log = logging.getLogger(__name__)

WORKERS: Final = 8
"""The number of jobs that are looked at together: each look may wait for the answer to a write."""
OF_PARENTS: Final = frozenset((gvk.group, gvk.kind) for gvk in (*PARENTS, POD, WORKLOAD))
"""Kinds that affect pods queued in groups which follow from a parent object."""
GATHER: Final = 0.05
"""The longest pause between two rounds, in seconds. The first change after a pause is decided at once, later ones are
collected for the next round: of two workloads created together, the first is decided first, as by Kueue."""
SHORT: Final = 20
"""The pause after a round, as a multiple of its duration, if that is less: a round without writes is short."""
IDLE: Final = 1
"""That multiple while no Workload is pending: one that comes right after its queue does not wait."""
TICK: Final = 5.0
"""Seconds after which a round runs, or a follower is updated, even without a change: rules may depend on the time."""
FOLLOW_EVERY: Final = 0.1
"""Seconds between two updates of a replica that does not lead: a few changes at a time do not delay reviews."""
AFTER_FAILURE: Final = 1.0


class Controller:
    """Decides and writes while it leads (always, without a `leader`); otherwise keeps its view up to date."""

    def __init__(
        self,
        view: View,
        core: Core,
        clocks: Clocks,
        report: QueueMetrics,
        opted: Opted,
        settings: QueueSettings,
        leader: Leader | None = None,
    ) -> None:
        self._view, self._clocks, self._report, self._leader = view, clocks, report, leader
        self._leading = False
        self._dirty = asyncio.Event()
        self._writer = LeaderWriter(view, self._may_write, clocks.now)
        self._core = core
        self._events = EventRecorder(view.store, clocks.now)
        self._fence = Fence(view, self._writer, None if leader is None else leader.claim)
        context = ControllerContext(view, self._writer, self._events, clocks)
        self._decision_writer = DecisionWriter(context, core, report, self._fence, settings, self._dirty.set)
        self._transitions = Transitions(view, report.workloads, clocks.milliseconds)
        self._reconciler = Reconciler(view, self._writer, opted, self._events, settings)
        self._jobs = WorkQueue[JobKey](self._reconciler.look, WORKERS, self._reconciler.workloads.hold_quota)
        self._affected = AffectedJobs(view, self._reconciler.workloads, self._jobs.add)
        self.counts = WorkloadCounts(settings)
        """Counts of Workloads by queue; kept up to date whether this replica leads or not."""
        self._explainer = Explainer(core, self.counts.parked)
        self._upkeep = Upkeep(context, core, self._explainer.explanations, self._evict, settings.retention)
        self._recovery = None
        if settings.enabled(GATE):
            after, milliseconds = settings.force_delete_after, clocks.milliseconds
            self._recovery = FailureRecovery(view, self._writer, self._events, milliseconds, after)
        self._provisioner = Provisioner(view, self._writer, self._events)
        self._status_writer = QueueStatusWriter(context, report, core, self.counts)
        self._telling = Repeater(self._tell, clocks.monotonic)
        self._telling_new = Repeater(self._upkeep.run_new, clocks.monotonic)
        self._publishing = Repeater(self._publish, clocks.monotonic)
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """Return whether this replica leads."""
        return self._leading

    @property
    def epoch(self) -> int:
        """The number of this leadership; 0 without a lease."""
        return 0 if self._leader is None else self._leader.epoch

    @property
    def lease_made(self) -> str:
        """When the lease was created; "" without a lease."""
        return "" if self._leader is None else self._leader.lease_made

    def start(self) -> None:
        """Start in the background. The view is started by its owner."""
        self._task = asyncio.create_task(self._run(), name="controller")

    async def stop(self) -> None:
        """Stop all tasks and release the lease."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._leader is not None:
            await self._leader.release()

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Record a change in the view; this is its listener."""
        if (gvk.group, gvk.kind) in OF_THE_CORE:
            self._core.heard(old, new)
            self._upkeep.heard(gvk, old, new)
        self._status_writer.heard(gvk, old, new)
        self._report.heard(gvk, old, new)
        if _is_waited_for(gvk, new):
            self._telling.hurry()
            self._publishing.hurry()
        if matters_to_core(gvk, old, new):
            self._dirty.set()
        if not self._leading:
            return
        self._provisioner.heard(gvk, old, new)
        self._transitions.heard(gvk, old, new)
        subject = new if new is not None else old
        if subject is None:
            return
        if (gvk.group, gvk.kind) in MANAGED_KINDS:
            self._jobs.add(key_of_job(subject))
            if (maker := key_of_maker(subject)) is not None:
                self._jobs.add(maker)
        if (gvk.group, gvk.kind) in OF_PARENTS:
            for key in keys_of_parents(subject):
                self._jobs.add(key)
        if gvk == WORKLOAD:
            for key in self._reconciler.workloads.jobs_of(subject):
                self._jobs.add(key)
        self._affected.heard(gvk, old, new)

    def _may_write(self) -> bool:
        return self._leading and (self._leader is None or self._leader.leads)

    def _evict(self, decision: Evicted) -> None:
        self._decision_writer.ask(decision)
        self._dirty.set()

    async def _run(self) -> None:
        await self._view.wait()
        while True:
            try:
                if self._leader is not None:
                    await self._follow_until(self._leader)
                await self._lead()
            except StoreError as error:
                log.warning("the controller restarts: %s", error)
            except Exception:
                log.exception("the controller restarts: this is a bug in Sluice")
            await asyncio.sleep(AFTER_FAILURE)

    async def _follow_until(self, leader: Leader) -> None:
        """Keep the core up to date until this replica leads, so that its gate knows the queues."""
        waiting, followed = asyncio.create_task(leader.wait(), name="wait for the lease"), self._clocks.monotonic()
        try:
            while not waiting.done():
                if self._dirty.is_set() or self._clocks.monotonic() - followed >= TICK:
                    self._dirty.clear()
                    await self._decision_writer.follow()
                    followed = self._clocks.monotonic()
                await asyncio.wait({waiting}, timeout=FOLLOW_EVERY)
            waiting.result()
        finally:
            waiting.cancel()

    async def _lead(self) -> None:
        """Run all tasks of a leader; returns when this replica no longer leads."""
        hold = asyncio.create_task(self._leader.hold() if self._leader else _for_ever(), name="hold the lease")
        begun = asyncio.create_task(self._begin(), name="catch up and claim")
        tasks = {hold, begun}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if hold.done():
                hold.result()
                return
            begun.result()
            tasks.remove(begun)
            tasks.add(asyncio.create_task(self._decide(), name="rounds of decisions"))
            self._explainer.begin()
            self._upkeep.look_at_all()
            self._provisioner.look_at_all()
            tasks.add(asyncio.create_task(self._telling.run(), name="status of Workloads"))
            tasks.add(asyncio.create_task(self._telling_new.run(), name="status of new Workloads"))
            tasks.add(asyncio.create_task(self._publishing.run(), name="status of queues"))
            if self._recovery is not None:
                tasks.add(asyncio.create_task(self._recovery.run(), name="pods of unreachable nodes"))
            tasks.add(asyncio.create_task(self._affected.run(), name="jobs that changes concern"))
            self._events.start()
            self._jobs.start()
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except NotLeading:
            return
        finally:
            self._leading = False
            self._report.leads(False)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._decision_writer.stop()
            await self._jobs.stop()
            await self._events.stop()
            log.info("this replica no longer leads")

    async def _begin(self) -> None:
        """Catch up with all writes, then fence the former leader; failures are retried.

        Workloads are many, so they are listed only if the watch does not catch up.
        """
        began = self._clocks.monotonic()
        for gvk in QUEUE_KINDS:
            if gvk != WORKLOAD:
                await insist(partial(self._read, gvk))
        self._leading = True
        self._report.leads(True)
        if self._leader is None:
            await insist(partial(self._read, WORKLOAD))
            return
        if not await self._fence.catch_up(self._leader.epoch, self._leader.left):
            await insist(partial(self._read, WORKLOAD))
        caught_up = self._clocks.monotonic()
        await self._fence.keep_out(self._leader.epoch, self._leader.left)
        fenced = self._clocks.monotonic()
        log.info("caught up in %.1f s; fenced the last leader in %.1f s", caught_up - began, fenced - caught_up)

    async def _read(self, gvk: GroupVersionKind) -> None:
        if await self._view.store.scope(gvk) is not None:
            await self._view.informer(gvk).refresh(self._view.store)

    async def _decide(self) -> None:
        is_first = True
        self._dirty.set()
        while True:
            self._dirty.clear()
            began = self._clocks.monotonic()
            try:
                wanted = await self._decision_writer.run()
            except NotLeading:
                return
            took = self._clocks.monotonic() - began
            if is_first:
                log.info("the first round took %.1f s", took)
                is_first = False
            self._telling.news()
            self._publishing.news()
            share = SHORT if self.counts.any_pending else IDLE
            await self._wait(wanted, min(GATHER, share * took))

    async def _wait(self, wanted: int | None, gather: float) -> None:
        """Wait for a change and then until `gather` seconds have passed, at most until `wanted` (ms) or the tick."""
        ended = self._clocks.monotonic()
        seconds = TICK if wanted is None else min(TICK, max(0.0, (wanted - self._clocks.milliseconds()) / 1000))
        if await waited(self._dirty, seconds):
            await asyncio.sleep(max(0.0, ended + gather - self._clocks.monotonic()))

    async def _tell(self) -> None:
        """Update the status of Workloads, one write after another; of new ones in the background."""
        await self._upkeep.run(await self._explainer.run())
        self._telling_new.news()

    async def _publish(self) -> None:
        """Update the status of queues, and the ProvisioningRequests."""
        await self._status_writer.publish()
        await self._provisioner.run()


def _is_waited_for(gvk: GroupVersionKind, new: Object | None) -> bool:
    """Return whether somebody waits for an update: of a finalizer on deletion, or of a status after an admission."""
    if gvk in (CLUSTER_QUEUE, FLAVOR, ADMISSION_CHECK, TOPOLOGY):
        return new is None or bool(new["metadata"].get("deletionTimestamp"))
    return gvk == WORKLOAD and new is not None and holds(new, WAITING) and holds(new, QUOTA_RESERVED)


async def _for_ever() -> None:
    await asyncio.Event().wait()
