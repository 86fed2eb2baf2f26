"""The writes of decisions, which continue while the next round is decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from webhook.store.errors import StoreError, Unavailable
from webhook.store.objects import Object

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""The number of concurrent writes."""


class BackgroundWrites:
    """Runs the writes of decisions in the background, one per Workload at a time."""

    def __init__(self, failed: Callable[[], None]) -> None:
        """`failed` is called when another round is needed: to settle a write, or to decide anew on what has changed."""
        self._failed, self._room = failed, asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._outdated: set[str] = set()
        self._error: BaseException | None = None
        self.keys: set[str] = set()
        """Keys (`namespace/name`) of Workloads whose write has no outcome yet. The same set object for ever."""
        self.unknown: dict[str, Object] = {}
        """Workloads as they were before a write that got no answer, by key; added by the write itself."""

    async def begin(self, key: str, write: Callable[[], Awaitable[None]]) -> None:
        """Start a write as soon as there is room and the earlier write of its Workload has ended."""
        if (earlier := self._tasks.get(key)) is not None:
            await asyncio.wait({earlier})
        await self._room.acquire()
        self.keys.add(key)
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
        self.keys.clear()

    def outdated(self, key: str) -> None:
        """Note, while a write runs, that its decision was made from an older object: it is decided on anew at its end.

        So is what was heard of the Workload meanwhile, even if it is the write itself: a watch may be faster than the
        answer. Not for what the API server refuses: that would be tried again without a pause.
        """
        self._outdated.add(key)

    def settled(self, key: str) -> None:
        """Remove a write from `unknown`: its outcome is known now."""
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
        if key in self._outdated:
            self._outdated.discard(key)
            self._failed()
