"""Work that is done again after news: soon where somebody waits for it, more seldom the longer it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from webhook.cluster.api.writer import NotLeading

EVERY: Final = 0.5
"""Seconds until it is done again, news or not."""
SHORTEST: Final = 0.02
"""Seconds between two times at least."""
REST: Final = 10
"""So many times as long as it took is waited for before the next time, `EVERY` at most."""
SHORT_REST: Final = 2
"""The same where somebody waits for what is written."""


class Repeated:
    """One piece of work. `news` says that there may be something to write, `hurry` that somebody waits for it."""

    def __init__(self, work: Callable[[], Awaitable[None]], clock: Callable[[], float]) -> None:
        self._work, self._clock = work, clock
        self._news, self._soon = asyncio.Event(), asyncio.Event()

    def news(self) -> None:
        """Do it again."""
        self._news.set()

    def hurry(self) -> None:
        """Do it again soon."""
        self._soon.set()
        self._news.set()

    async def run(self) -> None:
        """Do it again and again; returns when this replica no longer leads."""
        while True:
            self._news.clear()
            self._soon.clear()
            began = self._clock()
            try:
                await self._work()
            except NotLeading:
                return
            took = self._clock() - began
            await asyncio.sleep(min(EVERY, max(SHORTEST, SHORT_REST * took)))
            await waited(self._soon, min(EVERY, (REST - SHORT_REST) * took))
            await waited(self._news, EVERY)


async def waited(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, so long at most; say whether it came.

    Not `wait_for`: in Python 3.11 it swallows a cancellation that meets it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
