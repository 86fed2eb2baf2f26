"""The time, which comes in from outside: tests and simulations have their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Clocks:
    """The time: `now` as a date, in UTC; `monotonic` in seconds, for intervals."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]

    def milliseconds(self) -> int:
        """Give the time in milliseconds since the epoch."""
        return int(self.now().timestamp() * 1000)
