"""Where the past comes from: the journal of this replica where one is written, else what it saw since it started."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from webhook.dashboard.model.queues import QueueHistory
from webhook.dashboard.model.workloads import LifeEvent
from webhook.dashboard.past.ended import Ended
from webhook.dashboard.past.history import Runs, Samples, point_of
from webhook.dashboard.past.journal import JournalPast, read_past
from webhook.dashboard.views.cluster import columns_of
from webhook.offline.simulate.arrivals import Arrival
from webhook.queue.state import State

log = logging.getLogger(__name__)

AGAIN: Final = 60.0
"""Seconds for which what was read of a journal is used again."""
PATIENCE: Final = 10.0
"""Seconds of reading."""
SHOWN: Final = 400
"""Points of a queue that are answered."""


class Past:
    """Answers from the journal, read at most once a minute and by one thread, or from memory. `clock` is in seconds."""

    def __init__(
        self, folder: Path | None, samples: Samples, runs: Runs, ended: Ended, clock: Callable[[], float]
    ) -> None:
        self._folder, self._samples, self._runs, self._clock = folder, samples, runs, clock
        self.ended = ended
        self._read: JournalPast | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    @property
    def source(self) -> Literal["journal", "memory"]:
        """Return where the past comes from."""
        return "memory" if self._folder is None else "journal"

    async def history(self, state: State, name: str, since: int) -> QueueHistory:
        """Return what a queue was like from a time on."""
        read = await self._journal()
        if read is None:
            return self._samples.of(state, name, since)
        columns = columns_of(state)
        points = [point for point in read.queues.get(name, ()) if point.at >= since]
        step = -(-len(points) // SHOWN) or 1
        shown = tuple(point_of(point, columns) for point in points[::step])
        return QueueHistory("journal", max(since, read.since), read.partial, shown)

    async def life(self, key: str) -> list[LifeEvent]:
        """Return what the journal has of a workload; nothing where none is written."""
        read = await self._journal()
        return [] if read is None else read.lives.get(key, [])

    async def arrivals(self) -> tuple[tuple[Arrival, ...], bool]:
        """Return the jobs that ran, and whether they are only the latest."""
        read = await self._journal()
        if read is None:
            return self._runs.arrivals(), self._runs.full
        return read.arrivals, read.partial

    async def _journal(self) -> JournalPast | None:
        if self._folder is None:
            return None
        async with self._reading:
            if self._read is None or self._clock() > self._read_at + AGAIN:
                until = self._clock() + PATIENCE
                try:
                    self._read = await asyncio.to_thread(read_past, self._folder, lambda: self._clock() < until)
                except OSError as error:
                    log.warning("the page shows no history: the journal cannot be read: %s", error)
                    self._read = JournalPast(0, True, {}, {}, ())
                self._read_at = self._clock()
            return self._read
