"""Says in each waiting Workload why it waits, and keeps the explanations for whoever asks.

Done beside the rounds of decisions, a few at a time, so that neither they nor admission wait for it; a round in
between makes it begin again. A message is written when its reason is new, or its numbers are and it is old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from webhook.api.pending_message import message_of
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter
from webhook.cluster.queues import workload_conditions
from webhook.cluster.queues.protocol import Core
from webhook.cluster.queues.workload_conditions import QUOTA_RESERVED
from webhook.kube.conditions import find, holds, same
from webhook.queue.decisions import Pending
from webhook.store.errors import StoreError
from webhook.store.objects import Object

SLICE: Final = 50
"""Explanations made before other tasks get their turn."""
AGAIN: Final = 60_000
"""Milliseconds between two messages of one Workload where only numbers differ."""


class Explainer:
    """`told` has the latest explanation of every waiting workload, by `namespace/name`."""

    def __init__(self, view: View, writer: LeaderWriter, core: Core, clock_ms: Callable[[], int]) -> None:
        self._view, self._writer, self._core, self._clock_ms = view, writer, core, clock_ms
        self._written: dict[str, int] = {}
        self._revision = -1
        self._held_back: int | None = None
        self.told: dict[str, Pending] = {}

    async def run(self) -> None:
        """Explain everything that waits, if something changed since the last time. Raises NotLeading.

        So it does where a message was held back for being too early after the one before, and is due now.
        """
        revision = self._core.revision
        due = self._held_back is not None and self._clock_ms() > self._held_back
        if revision == self._revision and not due:
            return
        told: dict[str, Pending] = {}
        for pending in self._core.waiting():
            told[pending.workload] = pending
            if len(told) % SLICE == 0:
                await asyncio.sleep(0)
                if self._core.revision != revision:
                    return
        self._revision, self._held_back = revision, None
        self.told.clear()
        self.told.update(told)
        self._written = {key: at for key, at in self._written.items() if key in told}
        for pending in told.values():
            await self._write(pending)

    async def _write(self, pending: Pending) -> None:
        namespace, _, name = pending.workload.partition("/")
        workload = self._view.mirror(WORKLOAD).get(name, namespace)
        if workload is None or holds(workload, QUOTA_RESERVED):
            return
        reason, message = pending.reason.value, message_of(pending) or pending.reason.value
        if not self._is_news(pending.workload, workload, reason, message):
            return
        self._written[pending.workload] = self._clock_ms()
        try:
            await self._writer.status(
                workload, workload_conditions.pending(workload, reason, message, self._writer.stamp())
            )
        except StoreError:
            self._revision = -1  # it has changed since: the next time explains it anew

    def _is_news(self, key: str, workload: Object, reason: str, message: str) -> bool:
        if same(workload, QUOTA_RESERVED, False, reason, message):
            return False
        old = find(workload, QUOTA_RESERVED) or {}
        due = self._written.get(key, 0) + AGAIN
        if old.get("reason") != reason or self._clock_ms() > due:
            return True
        self._held_back = due if self._held_back is None else min(due, self._held_back)
        return False
