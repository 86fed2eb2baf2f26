"""Keeps the explanation of each pending workload, and reports whose reason or message has changed.

Runs between the rounds of decisions. Workloads that were considered are explained at once. A change may affect the
numbers of all others in their tree of cohorts, so these are explained again, some in each run; a further change does
not restart that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import SLICE_SECONDS, Slice, in_slices
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

    async def run(self) -> dict[str, bool]:
        """Explain workloads that were considered, and some of the others.

        Return the keys of those that are to be told something new, and whether it is a new reason: else only numbers.
        """
        if not self._left and self._core.revision != self._revision:
            self._revision = self._core.revision
            self._left = await in_slices(self._core.stirred())
        keys = dict.fromkeys((*self._core.looked_at(), *self._left[-OTHERS:]))
        del self._left[-OTHERS:]
        news, gathered, time_slice = dict[str, bool](), Gathered(), Slice()
        for key in keys:
            if (is_reason := self._explain(key, gathered)) is not None:
                news[key] = is_reason
            await time_slice.give_way(SLICE_SECONDS)  # a review needs several turns: it gets half of the time
        return news

    def _explain(self, key: str, gathered: Gathered) -> bool | None:
        """Explain one workload; return whether its reason is new, None if what it is told is as before."""
        pending, before = self._core.explain(key, gathered), self.explanations.get(key)
        if pending == before:
            return None
        self._parked(key, pending is not None and pending.place is not PendingPlace.ACTIVE)
        if pending is None:
            del self.explanations[key]
            return None
        self.explanations[key] = pending
        if before is None or pending.reason is not before.reason:
            return True
        return None if _told(pending) == _told(before) else False


def _told(pending: Pending) -> tuple[object, ...]:
    """Return what the messages of a Workload are made from: its position and its start are not in them."""
    return pending.message, pending.shortages, pending.outcome
