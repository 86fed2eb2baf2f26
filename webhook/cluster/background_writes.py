"""The writes of decisions, which continue while the next round is decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.store.errors import StoreError, Unavailable
from webhook.store.objects import Object

log = logging.getLogger(__name__)

CONCURRENT_WRITES: Final = 8
"""The number of concurrent writes."""


class BackgroundWrites:
    """Runs the writes of decisions in the background, one per Workload at a time."""

    def __init__(self, in_flight: WritesInFlight, again: Callable[[], None]) -> None:
        """Keep `in_flight` up to date.

        `again` is called when another round is needed: to settle a write, or to decide anew on what has changed.
        """
        self.in_flight, self._again, self._room = in_flight, again, asyncio.Semaphore(CONCURRENT_WRITES)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._error: BaseException | None = None
        self.unknown: dict[str, Object] = {}
        """Workloads as they were before a write that got no answer, by key; added by the write itself."""

    async def begin(self, key: str, write: Callable[[], Awaitable[None]]) -> None:
        """Start a write as soon as there is room and the earlier write of its Workload has ended."""
        if (earlier := self._tasks.get(key)) is not None:
            await asyncio.wait({earlier})
        await self._room.acquire()
        self.in_flight.keys.add(key)
        task = self._tasks[key] = asyncio.create_task(self._do(write), name=f"write {key}")
        task.add_done_callback(lambda _: self._ended(key))

    def check(self) -> None:
        """Raise the last error of a write that is not a StoreError: NotLeading, or a bug."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    async def stop(self) -> None:
        """Cancel all writes, and wait for their end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._error = None
        self.in_flight.keys.clear()

    def settled(self, key: str) -> None:
        """Remove a write from `unknown`: its outcome is known now."""
        del self.unknown[key]
        self.in_flight.keys.discard(key)

    async def _do(self, write: Callable[[], Awaitable[None]]) -> None:
        try:
            await write()
        except StoreError as error:
            log.info("not written: %s", error)
            if isinstance(error, Unavailable):
                self._again()
        except Exception as error:
            self._error = error
            self._again()

    def _ended(self, key: str) -> None:
        del self._tasks[key]
        self._room.release()
        if key not in self.unknown:
            self.in_flight.keys.discard(key)
        if key in self.in_flight.outdated:
            self.in_flight.outdated.discard(key)
            self._again()
