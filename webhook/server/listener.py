"""A port that serves an application, opened and closed in order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ssl
from typing import Final, Protocol

from aiohttp import web

from webhook.server.connection import Connection, make_request
from webhook.server.limits import Limits
from webhook.server.port import Port
from webhook.server.responses import StatusError
from webhook.setting_values import host_and_port

HANDSHAKE_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0
"""How long a TLS connection may take to open, and to close in good order."""
FORCE_SECONDS: Final = 0.5
"""What is left at shutdown to the handler of a connection that was cut off."""
LOOK_EVERY: Final = 0.25
"""Seconds between two looks at all connections: one timer for all of them, whatever they wait for."""

WHY_NOT_OPENED: Final = {
    errno.EADDRINUSE: "another process uses this port; choose another one, or 0 for any that is free",
    errno.EADDRNOTAVAIL: "this machine does not have this address; 127.0.0.1 or 0.0.0.0 always work",
    errno.EACCES: "this user may not open this port; choose one from 1024",
}
"""Why a port cannot be opened, and what to do, by error number."""


class Application(Protocol):
    """Answers the requests of a port; `refuse` what is no HTTP."""

    @property
    def limits(self) -> Limits:
        """The bounds of the port."""

    def refuse(self, error: StatusError) -> web.Response:
        """Answer what cannot be read."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; never raises."""


class Listener:
    """One port. `start` opens it; `stop` closes it to new connections and waits for what is in flight.

    `address` is HOST:PORT; errors name it with the `option` that set it.
    """

    def __init__(self, app: Application, option: str, address: str, context: ssl.SSLContext | None = None) -> None:
        self._app, self._option, self._address, self._context = app, option, address, context
        self.port = Port(app.limits, app.refuse)
        self._server: web.Server | None = None
        self._socket: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> int:
        """Open the port and give its number (of use where 0 was asked for). Raises OSError."""
        loop, secure = asyncio.get_running_loop(), self._context is not None
        server = self._server = web.Server(self._app, request_factory=make_request)
        try:
            self._socket = await loop.create_server(
                lambda: Connection(server, self.port, loop),
                *host_and_port(self._address),
                ssl=self._context,
                backlog=1024,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if secure else None,
                ssl_shutdown_timeout=CLOSE_SECONDS if secure else None,
            )
        except OSError as error:
            why = WHY_NOT_OPENED.get(error.errno or 0, error.strerror or str(error))
            raise OSError(f"{self._option} {self._address}: {why}") from None
        self._look(loop)
        return int(self._socket.sockets[0].getsockname()[1])

    def drain(self) -> None:
        """Close each connection after its next response; the port stays open."""
        self.port.draining = True

    async def stop(self) -> None:
        """Close the port and what is idle, let requests in flight finish, then cut off what is left."""
        if self._server is None or self._socket is None:
            return
        self.drain()
        self._socket.close()
        for connection in tuple(self.port.connections):
            if not connection.answering and not connection.unread:
                connection.force_close()
        if self.port.connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.port.quiet.wait(), self.port.limits.grace)
        for connection in tuple(self.port.connections):
            connection.abort()
        await self._server.shutdown(FORCE_SECONDS)
        if self._timer is not None:
            self._timer.cancel()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cut off every connection that is behind its deadline."""
        now = loop.time()
        for connection in tuple(self.port.connections):
            if connection.deadline < now:
                connection.abort()
        self._timer = loop.call_later(LOOK_EVERY, self._look, loop)
