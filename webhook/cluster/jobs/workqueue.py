"""Keys that want to be looked at: each at most once at a time, later again where something changed meanwhile.

Urgent keys go ahead of others, which have a share of the looks all the same: as in weighted fair queueing, each of the
two kinds counts what its looks cost, and the one that has less goes next.

However many wait, the event loop has its turn after a slice of time: neither a key that is there nor a look that
writes nothing would give way by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from itertools import count
from typing import Final, Generic, TypeVar

from webhook.cluster.pace import Slice

log = logging.getLogger(__name__)

FIRST_RETRY: Final = 0.1
LAST_RETRY: Final = 30.0
NEXT_LOOK_SECONDS: Final = 0.05
"""Seconds until the next look at what a step has just changed."""
POLL: Final = 1.0
"""Seconds between two looks at pods that have to end."""
AFTER_REFUSAL_SECONDS: Final = 30.0
"""Seconds until a write that the API server refused is tried again: something must change first."""
COST: Final = {True: 1, False: 4}
"""What a look at an urgent key, and at another, counts: where both wait, four of five are urgent ones."""

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """Runs `work(key)` for every key added, by a few tasks. `work` gives seconds after which to look again, or None.

    `is_urgent` is asked when a key is added.
    """

    def __init__(
        self, work: Callable[[Key], Awaitable[float | None]], tasks: int, is_urgent: Callable[[Key], bool]
    ) -> None:
        self._work, self._count, self._is_urgent = work, tasks, is_urgent
        self._ready: asyncio.PriorityQueue[tuple[int, int, Key]] = asyncio.PriorityQueue()
        """Place, number and key; a key that became urgent while it waited is there twice."""
        self._number = count()
        self._waiting: dict[Key, int] = {}
        """The place of each key that waits."""
        self._reached = 0
        """The place of the key that was looked at last."""
        self._ends = {True: 0, False: 0}
        """The place of the last urgent key, and of the last other one."""
        self._busy: set[Key] = set()
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._slice = Slice()

    def add(self, key: Key) -> None:
        """Ask for a look at `key`, now or as soon as the present look at it is over."""
        if timer := self._timers.pop(key, None):
            timer.cancel()
        if key in self._busy:
            self._again.add(key)
            return
        urgent, before = self._is_urgent(key), self._waiting.get(key)
        if before is not None and not urgent:
            return
        place = max(self._reached, self._ends[urgent]) + COST[urgent]
        if before is None or place < before:
            self._waiting[key] = self._ends[urgent] = place
            self._ready.put_nowait((place, next(self._number), key))

    def add_after(self, key: Key, seconds: float) -> None:
        """Ask for a look at `key` in `seconds`, unless one comes earlier."""
        if key in self._timers or key in self._waiting:
            return
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def start(self) -> None:
        """Begin to work."""
        self._tasks = [asyncio.create_task(self._run(), name=f"worker {n}") for n in range(self._count)]

    async def stop(self) -> None:
        """End all work, also what has begun; forget every key."""
        for timer in self._timers.values():
            timer.cancel()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for keys in (self._timers, self._waiting, self._busy, self._again, self._failures):
            keys.clear()
        self._ready = asyncio.PriorityQueue()

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def _run(self) -> None:
        while True:
            await self._slice.give_way()
            place, _, key = await self._ready.get()
            if self._waiting.get(key) != place:
                continue  # it was looked at when it was urgent
            del self._waiting[key]
            self._reached = place
            self._busy.add(key)
            try:
                after = await self._work(key)
                self._failures.pop(key, None)
            except Exception:
                failures = self._failures[key] = self._failures.get(key, 0) + 1
                after = min(FIRST_RETRY * 2**failures, LAST_RETRY)
                log.exception("%s failed; retrying in %.1f s", key, after)
            finally:
                self._busy.discard(key)
            if key in self._again:
                self._again.discard(key)
                self.add(key)
            elif after is not None:
                self.add_after(key, after)
