"""Clocks that run as the file SLUICE_CLOCK says: how fast, how far all have jumped, and how far dates alone.

Python runs this at the start of a process whose PYTHONPATH names the folder. Timers of the event loop go by the same
clock, those that threads wait with by the real one.
"""

import datetime
import os
import time
from pathlib import Path

import uvloop

EVERY = 0.02
"""Real seconds between two looks at the file."""


class Clock:
    """Real readings of both clocks become those of the file."""

    def __init__(self, file: Path) -> None:
        self.file, self.monotonic, self.time = file, time.monotonic, time.time
        self.rate, self.jump, self.date = 1.0, 0.0, 0.0
        self.base = self.looked = self.monotonic()
        self.ahead = 0.0
        """Seconds that the rate has made of it since the start, at `base`."""
        self.look()

    def look(self) -> None:
        """Read the file; what has passed until now passed at the former rate."""
        rate, jump, date = map(float, self.file.read_text().split())
        now = self.monotonic()
        self.ahead += (now - self.base) * (self.rate - 1)
        self.base, self.looked = now, now
        self.rate, self.jump, self.date = rate, jump, date

    def offset(self) -> float:
        """Seconds that clocks are ahead of the real ones now."""
        now = self.monotonic()
        if now - self.looked > EVERY:
            self.look()
        return self.ahead + (now - self.base) * (self.rate - 1) + self.jump

    def shown_monotonic(self) -> float:
        """Stand in for `time.monotonic`."""
        return self.offset() + self.monotonic()

    def shown_time(self) -> float:
        """Stand in for `time.time`."""
        return self.offset() + self.time() + self.date


class Kind(type(datetime.datetime)):  # type: ignore[misc]
    """What C makes are dates as well."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, REAL)


REAL = datetime.datetime


class Date(REAL, metaclass=Kind):
    """`datetime.datetime`, whose `now` is by the clock."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        """Give the clock's time."""
        return REAL.fromtimestamp(time.time(), tz)


class Loop(uvloop.Loop):
    """An event loop whose timers go by the clock."""

    def time(self) -> float:
        """Give the clock's seconds."""
        return time.monotonic()

    def call_later(self, delay, callback, *args, context=None):  # type: ignore[no-untyped-def]
        """Wait for so many of the clock's seconds, as fast as it runs now."""
        return super().call_later(delay / CLOCK.rate, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):  # type: ignore[no-untyped-def]
        """Wait until then."""
        return self.call_later(max(0.0, when - self.time()), callback, *args, context=context)


if file := os.environ.get("SLUICE_CLOCK"):
    CLOCK = Clock(Path(file))
    time.monotonic, time.time = CLOCK.shown_monotonic, CLOCK.shown_time
    datetime.datetime = Date  # type: ignore[misc]
    uvloop.Loop = Loop  # type: ignore[misc]
