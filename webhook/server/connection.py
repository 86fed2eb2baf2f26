"""aiohttp's low-level server with the bounds that it has no option for.

The time for a head and for an unread answer; the number of connections; the bytes that they send before a handler
takes them, and the bytes of large bodies held at once. How HTTP is read and written is aiohttp's business.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any

from aiohttp import web

from webhook.server.port import Port
from webhook.server.responses import StatusError


class Connection(web.RequestHandler):
    """One connection. `deadline` is when it is cut off, in the loop's time; `unread` are bytes no handler has taken."""

    def __init__(self, server: web.Server, port: Port, loop: asyncio.AbstractEventLoop) -> None:
        limits = port.limits
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type] # as web.run_app does
            keepalive_timeout=limits.idle_seconds,
            lingering_time=limits.linger,
            max_line_size=limits.line,
            max_field_size=limits.line,
            max_headers=limits.headers,
            read_bufsize=limits.read,
            auto_decompress=False,
        )
        self.port, self.clock, self.deadline = port, loop.time, inf
        self.unread = self.large_body = 0
        self.answering = self.discarding = self.held_back = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, or close where there is none."""
        super().connection_made(transport)
        if len(self.port.connections) >= self.port.limits.connections:
            self.abort()
            return
        self.port.connections.add(self)
        self.port.quiet.clear()
        self.deadline = self.clock() + self.port.limits.head_seconds

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release what this connection held."""
        super().connection_lost(exc)
        self.release()
        self.port.connections.discard(self)
        if not self.port.connections:
            self.port.quiet.set()

    def data_received(self, data: bytes) -> None:
        """Read on, within the bounds of what may wait; the first bytes of a head start its time."""
        port, limits = self.port, self.port.limits
        if self.deadline == inf and not self.answering:
            self.deadline = self.clock() + limits.head_seconds
        if not self.discarding:
            self.unread += len(data)
            port.unread += len(data)
        if self.unread > limits.unread or port.unread > limits.all_unread:
            self.abort()
        else:
            super().data_received(data)

    def pause_reading(self) -> None:
        """Read no further until the handler has caught up."""
        self.held_back = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Read on, where reading was paused: aiohttp asks for it with every body, at a tenth of a request's cost."""
        if self.held_back:
            self.held_back = False
            super().resume_reading(resume_parser)

    def pause_writing(self) -> None:
        """Wait only so long until the client has read what it was sent."""
        super().pause_writing()
        self.deadline = self.clock() + self.port.limits.stuck_seconds

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self.deadline = inf

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the answer; what it was made of is held until then."""
        if self.port.draining:
            resp.force_close()
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self.release()
            self.answering, self.discarding = False, not request.content.is_eof()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Refuse what is no HTTP/1.1, as a Status object. Nothing is logged: anybody can send it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        reason = (message or "").partition("\n")[0]
        response = self.port.refuse(StatusError(f"invalid HTTP/1.1 request: {reason}"))
        response.force_close()
        return response

    def take(self) -> None:
        """Record that a handler has read all that was received."""
        self.port.unread -= self.unread
        self.unread = 0

    def hold(self, size: int) -> bool:
        """Reserve a large body's bytes until its answer is sent; False where too many are held already."""
        if self.port.large_bodies + size > self.port.limits.large_bodies:
            return False
        self.large_body += size
        self.port.large_bodies += size
        return True

    def release(self) -> None:
        """Release what was received, and the bytes of a large body."""
        self.take()
        self.port.large_bodies -= self.large_body
        self.large_body = 0

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()


def make_request(
    message: Any, payload: Any, protocol: web.RequestHandler, writer: Any, task: asyncio.Task[None]
) -> web.BaseRequest:
    """Make the request whose head is here: the factory of `web.Server`."""
    assert isinstance(protocol, Connection)
    protocol.take()
    protocol.deadline, protocol.answering, protocol.discarding = inf, True, False
    return web.BaseRequest(message, payload, protocol, writer, task, task.get_loop())
