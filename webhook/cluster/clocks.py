"""Clocks as parameters, so that tests and simulations can replace them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks: `now` returns a datetime in UTC, `monotonic` seconds for intervals."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]

    def milliseconds(self) -> int:
        """Return the current time in milliseconds since the epoch."""
        return int(self.now().timestamp() * 1000)
