"""Keeps the explanation of each pending workload, and reports which have changed.

Runs between the rounds of decisions. Workloads that were considered are explained at once. A change may affect the
numbers of all others in their tree of cohorts, so these are explained again, some in each run; a further change does
not restart that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import SLICE, Slice, in_slices
from webhook.queue.decisions import Pending, PendingPlace
from webhook.queue.explain import Gathered

OTHERS: Final = 500
"""Explanations made in one run besides those of the workloads that were considered."""


class Explainer:
    """Keeps the latest explanation of every pending workload in `explanations`, by `namespace/name`.

    `parked` is called with a key, and whether that workload is inadmissible until something changes.
    """

    def __init__(self, core: Core, parked: Callable[[str, bool], None]) -> None:
        self._core, self._parked = core, parked
        self._revision = -1
        self._left: list[str] = []
        self.explanations: dict[str, Pending] = {}

    def begin(self) -> None:
        """Start over with all workloads: this replica has become the leader."""
        for key in self.explanations:
            self._parked(key, False)
        self.explanations.clear()
        self._left, self._revision = self._core.workloads(), -1

    async def run(self) -> list[str]:
        """Explain workloads that were considered, and some of the others; return the keys whose explanation is new."""
        if not self._left and self._core.revision != self._revision:
            self._revision = self._core.revision
            self._left = await in_slices(self._core.stirred())
        keys = dict.fromkeys((*self._core.looked_at(), *self._left[-OTHERS:]))
        del self._left[-OTHERS:]
        changed, gathered, time_slice = [], Gathered(), Slice()
        for key in keys:
            if self._explain(key, gathered):
                changed.append(key)
            await time_slice.give_way(SLICE)  # a review needs several turns of the loop: it gets half of the time
        return changed

    def _explain(self, key: str, gathered: Gathered) -> bool:
        """Explain one workload; return whether it has a new explanation."""
        pending, before = self._core.explain(key, gathered), self.explanations.get(key)
        if pending == before:
            return False
        self._parked(key, pending is not None and pending.place is not PendingPlace.ACTIVE)
        if pending is None:
            del self.explanations[key]
            return False
        self.explanations[key] = pending
        return True
