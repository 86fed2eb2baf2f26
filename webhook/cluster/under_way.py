"""Writes of decisions that go on while the next round is decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from webhook.store.errors import StoreError, Unavailable
from webhook.store.objects import Object

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Writes under way at the same time."""


class UnderWay:
    """The writes that have begun, one of each Workload at a time."""

    def __init__(self, failed: Callable[[], None]) -> None:
        """Take what is called when a write did not get through: another round has to see to it."""
        self._failed, self._room = failed, asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._error: BaseException | None = None
        self.keys: set[str] = set()
        """Of the Workloads whose write has no outcome yet; this set itself changes."""
        self.unknown: dict[str, Object] = {}
        """Workloads as they were before a write that ended without an answer, by key: who wrote puts them here."""

    async def begin(self, key: str, write: Callable[[], Awaitable[None]]) -> None:
        """Begin a write when there is room, and the earlier one of its Workload has ended.

        A write that fails does not stop the others. Any other error is raised by the next call of this, or of `end`.
        """
        if (earlier := self._tasks.get(key)) is not None:
            await asyncio.wait({earlier})
        await self._room.acquire()
        self.keys.add(key)
        task = self._tasks[key] = asyncio.create_task(self._do(write), name=f"write {key}")
        task.add_done_callback(lambda _: self._ended(key))
        self._raise()

    async def end(self) -> None:
        """Wait until every write has ended."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._raise()

    async def stop(self) -> None:
        """Give up every write."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._error = None
        self.keys.clear()

    def settled(self, key: str) -> None:
        """Take note that the outcome of one that ended without an answer is known now."""
        del self.unknown[key]
        self.keys.discard(key)

    async def _do(self, write: Callable[[], Awaitable[None]]) -> None:
        try:
            await write()
        except StoreError as error:
            log.info("not written: %s", error)
            if isinstance(error, Unavailable):
                self._failed()
        except Exception as error:
            self._error = error
            self._failed()

    def _ended(self, key: str) -> None:
        del self._tasks[key]
        self._room.release()
        if key not in self.unknown:
            self.keys.discard(key)

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error
