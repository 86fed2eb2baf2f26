"""Keeps the explanations of what waits, for whoever asks, and says whose changed.

Done beside the rounds of decisions, a few at a time, so that neither they nor admission wait for it; a round in
between makes it begin again.
"""

from __future__ import annotations

import asyncio
from typing import Final

from webhook.cluster.queues.protocol import Core
from webhook.queue.decisions import Pending

SLICE: Final = 50
"""Explanations made before other tasks get their turn."""


class Explainer:
    """`told` has the latest explanation of every waiting workload, by `namespace/name`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._revision = -1
        self.told: dict[str, Pending] = {}

    async def run(self) -> list[str]:
        """Explain everything that waits, if something changed since the last time; give the keys of what is new."""
        revision = self._core.revision
        if revision == self._revision:
            return []
        told: dict[str, Pending] = {}
        for pending in self._core.waiting():
            told[pending.workload] = pending
            if len(told) % SLICE == 0:
                await asyncio.sleep(0)
                if self._core.revision != revision:
                    return []
        self._revision = revision
        news = [key for key, pending in told.items() if self.told.get(key) != pending]
        self.told.clear()
        self.told.update(told)
        return news
