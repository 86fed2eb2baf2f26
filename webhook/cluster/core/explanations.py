"""Keeps the explanations of what waits, for whoever asks, and says whose changed.

Done beside the rounds of decisions. What was looked at is explained at once. A change may give all others of its tree
of cohorts other numbers, so they are gone through again, some at a time; one change more does not begin that anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import SLICE, Slice, in_slices
from webhook.queue.decisions import Pending, PendingPlace
from webhook.queue.explain import Gathered

OTHERS: Final = 500
"""Explanations made in one run beside those of what was looked at."""


class Explainer:
    """`told` has the latest explanation of every waiting workload, by `namespace/name`.

    `parked` is called with a key, and whether that workload waits for something to change.
    """

    def __init__(self, core: Core, parked: Callable[[str, bool], None]) -> None:
        self._core, self._parked = core, parked
        self._revision = -1
        self._left: list[str] = []
        self.told: dict[str, Pending] = {}

    def begin(self) -> None:
        """Forget everything, and go through all: this replica takes over."""
        for key in self.told:
            self._parked(key, False)
        self.told.clear()
        self._left, self._revision = self._core.workloads(), -1

    async def run(self) -> list[str]:
        """Explain what may have another explanation now, and some of the others; give the keys of what is new."""
        if not self._left and self._core.revision != self._revision:
            self._revision = self._core.revision
            self._left = await in_slices(self._core.stirred())
        keys = dict.fromkeys((*self._core.looked_at(), *self._left[-OTHERS:]))
        del self._left[-OTHERS:]
        news, gathered, this = [], Gathered(), Slice()
        for key in keys:
            if self._explain(key, gathered):
                news.append(key)
            await this.give_way(SLICE)  # a review needs several turns of the loop: half of the time is its
        return news

    def _explain(self, key: str, gathered: Gathered) -> bool:
        """Explain one; say whether it has another explanation than before."""
        pending, before = self._core.explain(key, gathered), self.told.get(key)
        if pending == before:
            return False
        self._parked(key, pending is not None and pending.place is not PendingPlace.ACTIVE)
        if pending is None:
            del self.told[key]
            return False
        self.told[key] = pending
        return True
