"""What the connections of one port share: its bounds, and how much of them is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

from webhook.server.limits import Limits
from webhook.server.responses import StatusError

if TYPE_CHECKING:
    from webhook.server.connection import Connection


@dataclass(slots=True)
class Port:
    """The connections of one port. `refuse` answers, and counts, what is no HTTP."""

    limits: Limits
    refuse: Callable[[StatusError], web.Response]
    connections: set[Connection] = field(default_factory=set)
    unread: int = 0
    """Bytes that came in and that no handler has taken."""
    large_bodies: int = 0
    """Bytes of the bodies whose answers are not sent yet, of those that are not small."""
    draining: bool = False
    """Whether every answer is the last of its connection."""
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the last connection is closed."""
