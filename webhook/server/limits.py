"""Bounds of one request and of one connection. Durations are in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """All bounds. An UPDATE carries two objects of up to 3 MiB as JSON, hence bodies of 8 MiB."""

    body: int = 8 * MIB
    head: int = 32 * 1024
    """Request line and headers together."""
    seconds: float = 9.0
    """How long a request may wait for facts, where the API server does not say."""
    head_seconds: float = 10.0
    body_seconds: float = 5.0
    idle_seconds: float = 180.0
    """Longer than the 90 s for which Go's client keeps an idle connection: it must be the one to close it, else a call
    may meet a connection that is just being closed, and a POST is not sent again."""
    linger: float = 0.5
    """For so long the rest of a request that was refused is still read, so that the client sees the answer."""
    stuck_seconds: float = 20.0
    """For so long a client may leave its answer unread."""
    grace: float = 20.0
    """What requests in flight get to finish at shutdown; longer than any admission call may take."""
