"""An event loop whose time passes only while nothing is left to do: it goes from timer to timer without waiting.

Where nothing was written for a while, timers that tick (a round every five seconds, a look for news twice a second) are
passed over: time goes to the next event of the load, ten minutes at most. A year of ticks would take longer than its
jobs.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, Final

EXACT: Final = 2.0
"""Seconds after a change in which every timer is kept: rounds, writes and what is gathered behind them are over."""
RESOLUTION: Final = 1e-6
"""Seconds; a nanosecond, asyncio's own, is lost in a float beyond half a year: a timer that is due would never run."""
LEAP: Final = 600.0
"""Seconds that are passed over at once, at most: rules may look at the clock."""


class VirtualSelector(selectors.DefaultSelector):
    """Polls, and lets the loop's time pass instead of waiting."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        """Give what is ready; time passes by `timeout` where nothing is."""
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("nothing is ready, and no timer is set: nothing would ever happen again")
        self.loop.advance(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`version` tells changes of the load and the store apart; `due` is the time of the load's next event."""

    def __init__(self, version: Callable[[], int] = lambda: 0) -> None:
        selector = VirtualSelector()
        selector.loop = self
        self.now, self.due, self.version = 0.0, 0.0, version
        self._seen, self._exact = 0, EXACT
        super().__init__(selector)
        self._clock_resolution = RESOLUTION

    def time(self) -> float:
        """The virtual time in seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass to the next timer; beyond it where nothing changed for a while."""
        if (version := self.version()) != self._seen:
            self._seen, self._exact = version, self.now + EXACT
        later = self.now + seconds
        if later > self._exact:
            later = max(later, min(self.due, self.now + LEAP))
        self.now = later
