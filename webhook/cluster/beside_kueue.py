"""Runs the queue core beside a Kueue that decides (mode `external`): it decides too, and writes nothing.

Before an admission or eviction by Kueue is applied, the core decides on the state as it was, so that each can be
compared with what the core would have done. The core's own decisions are overwritten by the objects with the next
change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.core.changes import OF_THE_CORE, matters_to_core
from webhook.cluster.core.protocol import Core
from webhook.cluster.repeater import waited
from webhook.journal.compare import Agreement, Compared, ComparedKind
from webhook.kube.condition_types import EVICTED, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import GroupVersionKind
from webhook.store.objects import Object

log = logging.getLogger(__name__)

GATHER: Final = 0.2
"""Seconds for which changes are collected that are not decisions."""
LOOK_AGAIN: Final = 60.0
"""Seconds after which the core decides even without a change: rules may depend on the time."""
MOST_PARTS: Final = 100
"""The most calls of the core in one round."""


class BesideKueue:
    """Decides whenever something has changed; the journal of the core receives the decisions."""

    def __init__(self, view: View, core: Core, clock_ms: Callable[[], int]) -> None:
        self._view, self._core, self._clock_ms = view, core, clock_ms
        self._dirty = asyncio.Event()
        self._follows = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start in the background; decides once the view is synced."""
        self._task = asyncio.create_task(self._run(), name="decisions beside Kueue's")

    async def stop(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Record a change in the view; this is its listener."""
        if (gvk.group, gvk.kind) not in OF_THE_CORE:
            return
        if gvk.kind == WORKLOAD.kind and self._follows and was_decided(old, new):
            self.decide()
        self._core.heard(old, new)
        if matters_to_core(gvk, old, new):
            self._dirty.set()

    def decide(self) -> None:
        """Decide on the state as it is, in as many calls as that takes."""
        now = self._clock_ms()
        for part in range(MOST_PARTS):
            # No object says what an earlier part decided: applied again, they would all wait, and each part began anew.
            is_complete = self._core.decide(now, goes_on=part > 0).complete
            self._core.looked_at()  # forgotten: nobody is told here why a Workload waits
            if is_complete:
                return

    async def _run(self) -> None:
        await self._view.wait()
        self._follows = True
        while True:
            self._dirty.clear()
            try:
                self.decide()
            except Exception:
                log.exception("nothing is compared in this round: this is a bug in Sluice")
            if await waited(self._dirty, LOOK_AGAIN):
                await asyncio.sleep(GATHER)


class ComparisonMetrics:
    """Counters that compare the decisions of the core with Kueue's."""

    def __init__(self, registry: CollectorRegistry) -> None:
        words = "Starts and preemptions by Kueue, compared with what Sluice would have done."
        self._decisions = Counter("sluice_compared_decisions_total", words, ["what", "outcome"], registry=registry)
        words = "Time by which Sluice would have started jobs earlier."
        self._earlier = Counter("sluice_compared_earlier_seconds_total", words, registry=registry)
        for what in ComparedKind:
            for outcome in Agreement:
                self._decisions.labels(what.value, outcome.value)

    def record(self, compared: Compared) -> None:
        """Count one comparison."""
        self._decisions.labels(compared.what.value, compared.outcome.value).inc()
        self._earlier.inc(compared.earlier / 1000)


def was_decided(old: Object | None, new: Object | None) -> bool:
    """Return whether this change assigns quota to a Workload or evicts it."""
    if old is None or new is None:
        return False
    return any(holds(new, condition) and not holds(old, condition) for condition in (QUOTA_RESERVED, EVICTED))
