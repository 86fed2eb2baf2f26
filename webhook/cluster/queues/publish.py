"""Writes counts, usage and the condition `Active` into the queues' status, and the gauges; only on change."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from webhook.cluster.api.kinds import CLUSTER_QUEUE, FLAVOR, LOCAL_QUEUE, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter
from webhook.cluster.queues.core import Core
from webhook.cluster.queues.metrics import QueueMetrics
from webhook.cluster.queues.status import QueueTally, status_of, tally
from webhook.queue.decisions import Pending, Place
from webhook.store.errors import StoreError
from webhook.store.objects import Object, key_of

log = logging.getLogger(__name__)


class Publisher:
    """Writes what the view says of the queues."""

    def __init__(
        self, view: View, writer: LeaderWriter, report: QueueMetrics, core: Core, told: Mapping[str, Pending]
    ) -> None:
        self._view, self._writer, self._report, self._core, self._told = view, writer, report, core, told

    async def publish(self) -> None:
        """Bring the status of every queue up to date; what cannot be written now is written the next time."""
        parked = frozenset(key for key, told in self._told.items() if told.place is not Place.ACTIVE)
        queues, doors = self._view.mirror(CLUSTER_QUEUE).all(), self._view.mirror(LOCAL_QUEUE).all()
        flavors, workloads = self._view.mirror(FLAVOR).all(), self._view.mirror(WORKLOAD).all()
        counts = tally(queues, doors, flavors, workloads, parked, self._core.inactive())
        self._report.tallies(counts.cluster_queues.values(), self._writer.count)
        for queue in queues:
            await self._write(queue, counts.cluster_queues[key_of(queue)[1]], local=False)
        for door in doors:
            await self._write(door, counts.local_queues["/".join(key_of(door))], local=True)

    async def _write(self, queue: Object, counts: QueueTally, *, local: bool) -> None:
        used = self._core.used(counts.name, local=local)
        status = status_of(queue, counts, self._writer.stamp(), used, local=local)
        if status == queue.get("status"):
            return
        try:
            await self._writer.status(queue, status)
        except StoreError as error:
            log.info("the status of %s %s is not written: %s", queue.get("kind"), counts.name, error)
