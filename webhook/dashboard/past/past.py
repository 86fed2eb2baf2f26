"""Where the past comes from: the journal of this replica while it writes one, else what it saw since it started."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from webhook.dashboard.model.queues import QueueHistory
from webhook.dashboard.model.workloads import LifeEvent
from webhook.dashboard.past.ended import Ended
from webhook.dashboard.past.history import Runs, Samples, points_from
from webhook.dashboard.past.journal import JournalPast, read_past
from webhook.queue.state import State
from webhook.simulate.trace import Arrival

log = logging.getLogger(__name__)

REREAD_SECONDS: Final = 60.0
"""Seconds for which what was read of a journal is used again."""
READ_SECONDS: Final = 10.0
"""Seconds of reading."""


class Past:
    """Answers from the journal, read at most once a minute and by one thread, or from memory. `clock` is in seconds.

    `records` says whether this replica writes its journal now: that of one which does not lead is of another time.
    """

    def __init__(
        self,
        folder: Path | None,
        records: Callable[[], bool],
        samples: Samples,
        runs: Runs,
        ended: Ended,
        clock: Callable[[], float],
    ) -> None:
        self._folder, self._records, self._clock = folder, records, clock
        self._samples, self._runs = samples, runs
        self.ended = ended
        self._read: JournalPast | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    @property
    def source(self) -> Literal["journal", "memory"]:
        """Return where the past comes from."""
        return "memory" if self._folder is None or not self._records() else "journal"

    async def history(self, state: State, name: str, since: int) -> QueueHistory:
        """Return what a queue was like from a time on; while another replica led, what this one saw."""
        read, seen = await self._journal(), self._samples.of(name)
        if read is None:
            return QueueHistory("memory", self._samples.since, points=points_from(seen, since, state))
        between = [sample for sample in seen if any(end < sample.at < begin for end, begin in read.gaps)]
        points = sorted([*read.queues.get(name, ()), *between])
        unseen = any(end < self._samples.since and since < begin for end, begin in read.gaps)
        partial = read.partial or unseen
        return QueueHistory("journal", max(since, read.since), partial, points_from(points, since, state))

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
        if self._folder is None or not self._records():
            return None
        async with self._reading:
            if self._read is None or self._clock() > self._read_at + REREAD_SECONDS:
                until = self._clock() + READ_SECONDS
                try:
                    self._read = await asyncio.to_thread(read_past, self._folder, lambda: self._clock() < until)
                except OSError as error:
                    log.warning("the page shows no history: the journal cannot be read: %s", error)
                    self._read = JournalPast(0, True, {}, {}, (), ())
                self._read_at = self._clock()
            return self._read
