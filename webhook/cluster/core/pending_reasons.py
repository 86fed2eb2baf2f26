"""Keeps the explanations of what waits, for whoever asks, and says whose changed.

Done beside the rounds of decisions. What was looked at is explained at once; a change may give everybody else other
numbers, so all are gone through again, some at a time, and one change more does not make that begin anew.
"""

from __future__ import annotations

from typing import Final

from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import SLICE, Slice
from webhook.queue.decisions import Pending

OTHERS: Final = 500
"""Explanations made in one run beside those of what was looked at."""


class Explainer:
    """`told` has the latest explanation of every waiting workload, by `namespace/name`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._revision = -1
        self._left: list[str] = []
        self.told: dict[str, Pending] = {}

    async def run(self) -> list[str]:
        """Explain what may have another explanation now, and some of the others; give the keys of what is new."""
        if not self._left and self._core.revision != self._revision:
            self._begin()
        keys = dict.fromkeys((*self._core.looked_at(), *self._left[-OTHERS:]))
        del self._left[-OTHERS:]
        news, this = [], Slice()
        for key in keys:
            if self._explain(key):
                news.append(key)
            await this.give_way(SLICE)  # a review needs several turns of the loop: half of the time is its
        return news

    def _begin(self) -> None:
        """Go through all, and forget those that are gone."""
        self._revision, self._left = self._core.revision, self._core.workloads()
        for key in self.told.keys() - self._left:
            del self.told[key]

    def _explain(self, key: str) -> bool:
        """Explain one; say whether it has another explanation than before."""
        pending = self._core.explain(key)
        if pending is None:
            self.told.pop(key, None)
            return False
        before, self.told[key] = self.told.get(key), pending
        return before != pending
