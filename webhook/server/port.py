"""What all connections of one port hold together, and whether it is being closed. Counted here, bounded by `limits`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

from webhook.server.limits import Limits
from webhook.server.responses import StatusError


class Closable(Protocol):
    """A connection, as its port sees it."""

    deadline: float
    """When it is cut off, in the loop's time."""
    answering: bool
    unread: int

    def abort(self) -> None:
        """Close at once."""

    def force_close(self) -> None:
        """Close in good order."""


@dataclass(slots=True)
class Port:
    """The connections of one port. `refuse` answers, and counts, what is no HTTP."""

    limits: Limits
    refuse: Callable[[StatusError], web.Response]
    connections: set[Closable] = field(default_factory=set)
    unread: int = 0
    """Bytes that came in and that no handler has taken."""
    large_bodies: int = 0
    """Bytes of the bodies whose answers are not sent yet, of those that are not small."""
    draining: bool = False
    """Whether every answer is the last of its connection."""
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the last connection is closed."""
