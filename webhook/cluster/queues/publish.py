"""Writes counts, usage and the condition `Active` into the queues' status, and the gauges; only on change.

What is being deleted and no longer in use is let go.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from webhook.cluster.api.finalizers import let_go, marked
from webhook.cluster.api.kinds import ADMISSION_CHECK, CLUSTER_QUEUE, COHORT, FLAVOR, LOCAL_QUEUE, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter
from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import Slice, in_slices
from webhook.cluster.queues.conditions import Known
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.in_use import unheld, unmarked, unnamed
from webhook.cluster.queues.metrics import QueueMetrics
from webhook.cluster.queues.status import QueueCounts, status_of, tally, with_share
from webhook.kube.gvk import GroupVersionKind
from webhook.queue.decisions import Pending, Place
from webhook.store.errors import StoreError
from webhook.store.objects import Object, key_of

log = logging.getLogger(__name__)

AGAIN: Final = 5_000
"""Milliseconds after which it is looked at again though nothing was heard: what was used lately changes by itself."""
_SHOWN: Final = frozenset(
    (gvk.group, gvk.kind) for gvk in (WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, FLAVOR, ADMISSION_CHECK, COHORT)
)


class Publisher:
    """Writes what the view says of the queues."""

    def __init__(
        self,
        view: View,
        writer: LeaderWriter,
        report: QueueMetrics,
        core: Core,
        told: Mapping[str, Pending],
        clock_ms: Callable[[], int],
    ) -> None:
        self._view, self._writer, self._report, self._core, self._told = view, writer, report, core, told
        self._clock_ms = clock_ms
        self.counts = WorkloadCounts()
        self._changed, self._revision, self._last = True, -1, 0

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Take note of a change in the view."""
        if (gvk.group, gvk.kind) not in _SHOWN:
            return
        self._changed = True
        if gvk.kind == WORKLOAD.kind:
            self.counts.heard(old, new)

    def _is_news(self) -> bool:
        """Say whether anything may have to be written: since the last time, or because a while has passed."""
        now, revision = self._clock_ms(), self._core.revision
        if not self._changed and revision == self._revision and now < self._last + AGAIN:
            return False
        self._changed, self._revision, self._last = False, revision, now
        return True

    async def publish(self) -> None:
        """Bring the status of every queue up to date; what cannot be written now is written the next time."""
        if not self._is_news():
            return
        parked = [key for key, told in self._told.items() if told.place is not Place.ACTIVE]
        queues, doors = self._view.mirror(CLUSTER_QUEUE).all(), self._view.mirror(LOCAL_QUEUE).all()
        flavors, checks = self._view.mirror(FLAVOR).all(), self._view.mirror(ADMISSION_CHECK).all()
        known = Known.of(flavors, checks, self._core.inactive())
        counts = await in_slices(tally(queues, doors, known, self.counts, parked, self._core.shares()))
        self._report.tallies(counts, self._writer.count)
        stamp, this = self._writer.stamp(), Slice()
        for queue in queues:
            await this.give_way()
            name = key_of(queue)[1]
            used = self._core.used(name, self._last, local=False)
            await self._write(queue, status_of(queue, counts.cluster_queues[name], stamp, used, local=False))
        for door in doors:
            await this.give_way()
            name = "/".join(key_of(door))
            used = self._core.used(name, self._last, local=True)
            await self._write(door, status_of(door, counts.local_queues[name], stamp, used, local=True))
        for cohort in self._view.mirror(COHORT).all():
            await self._write(cohort, with_share(cohort, counts.shares))
        await self._mark_and_let_go(counts)

    async def _mark_and_let_go(self, counts: QueueCounts) -> None:
        """Write the finalizers of what is in use; the queues' status was written, so all is read anew.

        A queue that is gone with its finalizer counts no more: what it named may be made again at once, as a script
        does that deletes all of them and applies them anew.
        """
        queues, flavors = self._view.mirror(CLUSTER_QUEUE).all(), self._view.mirror(FLAVOR).all()
        checks = self._view.mirror(ADMISSION_CHECK).all()
        for check in unmarked(checks):
            await self._finalizers(check, marked(check))
        gone = set()
        for queue in unheld(queues, counts.cluster_queues):
            if await self._finalizers(queue, let_go(queue)) and let_go(queue) is None:
                gone.add(key_of(queue))
        for obj in unnamed([*flavors, *checks], (queue for queue in queues if key_of(queue) not in gone)):
            await self._finalizers(obj, let_go(obj))

    async def _finalizers(self, obj: Object, names: list[str] | None) -> bool:
        """Write an object's finalizers; say whether that was done."""
        try:
            await self._writer.metadata(obj, {"finalizers": names})
        except StoreError as error:
            self._changed = True
            log.info("the finalizers of %s %s are not written: %s", obj["kind"], key_of(obj)[1], error)
            return False
        return True

    async def _write(self, queue: Object, status: Object) -> None:
        if status == (queue.get("status") or {}):
            return
        try:
            await self._writer.status(queue, status)
        except StoreError as error:
            self._changed = True
            log.info("cannot write the status of %s %s: %s", queue.get("kind"), "/".join(key_of(queue)), error)
