"""A port that serves an application, opened and closed in order."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from email.utils import formatdate
from typing import Final

from webhook.server.app import App
from webhook.server.http import Connection, Port

HANDSHAKE_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0
"""How long a TLS connection may take to open, and to close in good order."""
LOOK_EVERY: Final = 0.25
"""Seconds between two looks at all connections: one timer for all of them, whatever they wait for."""


class Listener:
    """One port. `start` opens it; `stop` closes it to new connections and waits for what is in flight."""

    def __init__(self, app: App, host: str, port: int, context: ssl.SSLContext | None = None) -> None:
        self._port = Port(app, app.refuse, app.limits)
        self._host, self._number, self._context = host, port, context
        self._server: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._every = min(LOOK_EVERY, app.limits.body_seconds / 4)

    async def start(self) -> int:
        """Open the port and give its number (of use where 0 was asked for). Raises OSError."""
        loop = asyncio.get_running_loop()
        self._look()
        secure = self._context is not None
        self._server = await loop.create_server(
            lambda: Connection(self._port),
            self._host,
            self._number,
            ssl=self._context,
            backlog=1024,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if secure else None,
            ssl_shutdown_timeout=CLOSE_SECONDS if secure else None,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port, let requests in flight finish, close the connections."""
        if self._server is not None:
            self._server.close()
        port = self._port
        port.closing = True
        for connection in tuple(port.connections):
            connection.finish()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(port.quiet.wait(), port.limits.grace)
        for connection in tuple(port.connections):
            connection.abort()
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        """Tell the time to all connections, and close those that waited too long."""
        loop, port = asyncio.get_running_loop(), self._port
        port.now, port.date = loop.time(), formatdate(usegmt=True).encode()
        for connection in tuple(port.connections):
            connection.check()
        self._timer = loop.call_later(self._every, self._look)


def parse_address(text: str) -> tuple[str, int]:
    """Split `host:port` (or `[v6]:port`, or `:port` for all addresses). Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f'"{text}" is not HOST:PORT')
    return host.strip("[]"), int(port)
