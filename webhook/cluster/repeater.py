"""Repeats work after changes: soon if somebody waits for it, less often the longer it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from webhook.cluster.api.leader_writer import NotLeading

REPEAT_SECONDS: Final = 0.5
"""Seconds until the work is repeated without a change."""
SHORTEST: Final = 0.02
"""The shortest pause between two runs, in seconds."""
LONGEST_REST_SECONDS: Final = 1.0
"""The longest pause of a run that nobody waits for, in seconds."""
REST: Final = 20
"""The pause before the next run, as a multiple of the last run's duration."""
SHORT_REST: Final = 2
"""The same if somebody waits for the result."""


class Repeater:
    """A repeated piece of work. `news` says that there may be something to do, `hurry` that somebody waits for it."""

    def __init__(self, work: Callable[[], Awaitable[None]], clock: Callable[[], float]) -> None:
        self._work, self._clock = work, clock
        self._news, self._soon = asyncio.Event(), asyncio.Event()

    def news(self) -> None:
        """Run again."""
        self._news.set()

    def hurry(self) -> None:
        """Run again soon."""
        self._soon.set()
        self._news.set()

    async def run(self) -> None:
        """Run repeatedly; returns when this replica no longer leads."""
        while True:
            self._news.clear()
            self._soon.clear()
            began = self._clock()
            try:
                await self._work()
            except NotLeading:
                return
            took = self._clock() - began
            await asyncio.sleep(min(REPEAT_SECONDS, max(SHORTEST, SHORT_REST * took)))
            await waited(self._soon, min(LONGEST_REST_SECONDS, (REST - SHORT_REST) * took))
            await waited(self._news, REPEAT_SECONDS)


async def waited(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event for at most `seconds`; return whether it is set.

    Not `wait_for`: in Python 3.11 it may swallow a cancellation.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
