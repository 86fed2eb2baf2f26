"""One HTTP/1.1 connection: bytes in, whole requests to the application, answers out, in order.

llhttp (by httptools) reads the syntax, strictly. Here are the bounds of size and time, keep-alive, pipelining and
`Expect: 100-continue`. No HTTP/2, no upgrade, no compression; what a request means is no concern of this module.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from time import perf_counter
from typing import Any, Final, cast

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from webhook.server.limits import Limits
from webhook.server.messages import Answer, BadRequest, Call, Handler, wire

log = logging.getLogger(__name__)

WANTED: Final = frozenset({b"content-type", b"content-length", b"expect"})

VERSIONS: Final = frozenset({"1.0", "1.1"})
TURN: Final = 0.002
"""Seconds for which answers are made before they are sent, all of them together."""


class Phase(Enum):
    """What the connection reads next."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    DRAIN = auto()
    """The rest of a request that was refused, or what comes behind the last one: read and thrown away."""


IDLE, HEAD, BODY, DRAIN = Phase


def _soon(call: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(call)


class Port:
    """What the connections of one port share. `now` and `date` are set by the listener, a few times a second.

    `handler` must not raise; `refuse` makes the answer to what is no request at all, and counts it. `soon` has a call
    made when all that came in has been read.
    """

    __slots__ = (
        "_due",
        "_soon",
        "_unsent",
        "_waiting",
        "closing",
        "connections",
        "date",
        "handler",
        "limits",
        "now",
        "quiet",
        "refuse",
    )

    def __init__(
        self,
        handler: Handler,
        refuse: Callable[[BadRequest], Answer],
        limits: Limits,
        soon: Callable[[Callable[[], None]], None] = _soon,
    ) -> None:
        self.handler, self.refuse, self.limits, self._soon = handler, refuse, limits, soon
        self._waiting: deque[Connection] = deque()
        self._unsent: list[tuple[asyncio.Transport, bytes]] = []
        self._due = False
        self.connections: set[Connection] = set()
        self.closing = False
        self.quiet = asyncio.Event()
        """Set while nobody is connected."""
        self.quiet.set()
        self.now = 0.0
        self.date = b""

    def wait(self, connection: Connection) -> None:
        """Give a connection the next place in the row of those that have something to answer."""
        self._waiting.append(connection)
        if not self._due:
            self._due = True
            self._soon(self.turn)

    def turn(self) -> None:
        """Let those that wait answer one request each, as many as fit into a turn; then send their answers.

        What does the same thing many times in a row stays in the processor's caches, and a client on this machine is
        woken up once for all the answers, not by each.
        """
        waiting, end = self._waiting, perf_counter() + TURN
        for _ in range(len(waiting)):
            connection = waiting.popleft()
            try:
                connection.serve()
            except Exception:
                log.exception("answering failed: this is a bug of Sluice")
                connection.abort()
            if perf_counter() > end:
                break
        self._due = bool(waiting)
        if waiting:
            self._soon(self.turn)
        self.flush()

    def send(self, transport: asyncio.Transport, data: bytes) -> None:
        """Send this with the next `flush`."""
        self._unsent.append((transport, data))

    def flush(self) -> None:
        """Send what is there."""
        unsent, self._unsent = self._unsent, []
        for transport, data in unsent:
            if not transport.is_closing():
                transport.write(data)


class Connection(asyncio.Protocol):
    """One connection. A request whose answer is there at once costs no task and no timer."""

    __slots__ = (
        "_awaited",
        "_body",
        "_broken",
        "_busy",
        "_headers",
        "_keep",
        "_moved",
        "_parser",
        "_paused",
        "_phase",
        "_port",
        "_queued",
        "_ready",
        "_seen",
        "_since",
        "_stuck",
        "_task",
        "_transport",
        "_url",
    )
    _transport: asyncio.Transport

    def __init__(self, port: Port) -> None:
        self._port = port
        self._parser: Any = HttpRequestParser(self)
        self._phase, self._since = IDLE, port.now
        self._ready: deque[tuple[Call, bool]] = deque()
        self._broken: BadRequest | None = None
        self._task: asyncio.Future[None] | None = None
        self._busy = self._stuck = self._paused = self._queued = False
        self._moved = self._awaited = False
        self._seen = 0
        self._keep = True
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._port.connections.add(self)
        self._port.quiet.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; an answer that is still being made is thrown away."""
        self._phase = DRAIN
        self._ready.clear()
        self._parser = None  # it holds our methods, and we hold it
        self._port.connections.discard(self)
        if not self._port.connections:
            self._port.quiet.set()

    def data_received(self, data: bytes) -> None:
        """Read on; what is whole by then is answered in the next turn."""
        if self._phase is DRAIN:
            return
        self._moved = False
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:  # never agreed to: what comes behind this request is not ours to read
            self._end()
        except HttpParserError as error:
            if self._keep or self._phase is not IDLE:  # else it is what came behind the last request
                self._broken = self._broken or _misread(error)
        if not self._moved:
            self._seen += len(data)
            self._bound_head()
        self._line_up()

    def eof_received(self) -> None:
        """Answer what is whole, then close; over TLS there is no half-closed connection."""
        while self._queued:
            self.serve()
            self._port.flush()

    def pause_writing(self) -> None:
        """Answer nothing more until the client has read what it was sent."""
        self._stuck, self._since = True, self._port.now

    def resume_writing(self) -> None:
        """Go on."""
        self._stuck, self._since = False, self._port.now
        self._line_up()

    # What the parser tells.

    def on_message_begin(self) -> None:
        """A request begins."""
        self._enter(HEAD)
        self._url, self._headers, self._body = b"", {}, b""
        self._seen = 0

    def on_url(self, url: bytes) -> None:
        """Take the target, or a piece of it."""
        self._moved = True
        self._url += url
        self._seen += len(url)
        if self._seen > self._port.limits.head:
            self._bound_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a chunked body count towards the same bound and mean nothing."""
        self._moved = True
        self._seen += len(name) + len(value) + 4
        if self._seen > self._port.limits.head:
            self._bound_head()
        lowered = name.lower()
        if lowered in WANTED:
            self._headers[lowered] = value

    def on_headers_complete(self) -> None:
        """Refuse what is too large by its own account, before it comes; ask for the body where that is awaited."""
        self._moved = True
        version = self._parser.get_http_version()
        self._keep = version == "1.1" and self._parser.should_keep_alive()
        self._enter(BODY)
        if version not in VERSIONS:
            self._refuse(BadRequest(f"HTTP/{version} is not spoken here, but HTTP/1.1", 505))
        headers = self._headers
        if int(headers.get(b"content-length", b"0")) > self._port.limits.body:
            self._refuse(_too_large(self._port.limits))
        if (expected := headers.get(b"expect")) is not None:
            if expected.lower() != b"100-continue":
                self._refuse(BadRequest("the only expectation that is met is 100-continue", 417))
            self._awaited = True

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._moved = True
        self._awaited = False
        if not self._body:
            self._body = data
        else:
            if type(self._body) is bytes:
                self._body = bytearray(self._body)
            self._body += data
        if len(self._body) > self._port.limits.body:
            self._refuse(_too_large(self._port.limits))

    def on_message_complete(self) -> None:
        """The request is whole: it is answered when the parser has read all there is to read."""
        path, _, query = self._url.partition(b"?")
        call = Call(self._parser.get_method(), path, query, self._headers.get(b"content-type", b""), self._body)
        self._ready.append((call, self._keep))
        self._body = b""
        self._seen = 0
        self._awaited = False
        self._enter(IDLE)

    # What the listener asks for.

    def check(self) -> None:
        """Look whether this has gone on for too long."""
        limits, waited = self._port.limits, self._port.now - self._since
        if self._stuck:
            if waited > limits.stuck_seconds:
                self._transport.abort()
        elif self._busy:
            return
        elif self._phase is IDLE:
            if waited > limits.idle_seconds:
                self._transport.close()
        elif self._phase is DRAIN:
            if waited > limits.linger:
                self._transport.close()
        elif self._phase is HEAD and waited > limits.head_seconds:
            self._break(BadRequest(f"the headers did not arrive within {limits.head_seconds:g} s", 408, "timeout"))
        elif self._phase is BODY and waited > limits.body_seconds:
            self._break(BadRequest(f"the body did not arrive within {limits.body_seconds:g} s", 408, "timeout"))

    def finish(self) -> None:
        """Close as soon as nothing is in flight; the port is closing."""
        if self._phase is IDLE and not self._ready and not self._busy:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    # Answering.

    def serve(self) -> None:
        """Take a turn: answer the next request, or say what comes behind the last one that was whole."""
        self._queued = False
        ready = self._ready
        if not (self._busy or self._stuck):
            if ready:
                call, keep = ready.popleft()
                answer = self._port.handler(call)
                if type(answer) is Answer:
                    self._write(answer, call.method, keep=keep)
                else:
                    self._busy = True
                    self._task = asyncio.ensure_future(self._wait(cast("Awaitable[Answer]", answer), call.method, keep))
                self._line_up()
            elif self._broken is not None:
                if self._phase is not DRAIN:
                    self._send(self._port.refuse(self._broken), close=True)
                    self._enter(DRAIN)
            elif self._awaited and self._phase is BODY:
                self._awaited = False
                self._port.send(self._transport, b"HTTP/1.1 100 Continue\r\n\r\n")
        self._hold(bool(ready))

    def _line_up(self) -> None:
        """Ask for a turn, where there is something to say; who has asked already is not read further until then."""
        if self._busy or self._stuck:
            self._hold(bool(self._ready))
        elif self._queued:
            self._hold(True)
        elif self._ready or self._broken is not None or self._awaited:
            self._queued = True
            self._port.wait(self)

    async def _wait(self, answer: Awaitable[Answer], method: bytes, keep: bool) -> None:
        done = await answer
        self._busy = False
        if self._parser is not None:
            self._write(done, method, keep=keep)
            self._port.flush()
            self._line_up()

    def _write(self, answer: Answer, method: bytes, *, keep: bool) -> None:
        """Send an answer; the last one closes, and what was read behind it is not looked at."""
        keep = keep and not (self._port.closing and not self._ready)
        self._send(answer, close=not keep, headless=method == b"HEAD")
        self._since = self._port.now
        if not keep:
            self._ready.clear()
            self._phase = DRAIN
            self._port.flush()
            self._transport.close()

    def _send(self, answer: Answer, *, close: bool, headless: bool = False) -> None:
        self._port.send(self._transport, wire(answer, self._port.date, close=close, headless=headless))

    def _hold(self, wanted: bool) -> None:
        """Read no further while requests wait for their turn: a client cannot pile them up here."""
        if wanted is self._paused or self._transport.is_closing():
            return
        self._paused = wanted
        if wanted:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # Refusing.

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since = phase, self._port.now

    def _end(self) -> None:
        """Let the request that was read last be the last of this connection."""
        if self._ready:
            self._ready[-1] = (self._ready[-1][0], False)
        self._keep = False

    def _bound_head(self) -> None:
        if self._seen > self._port.limits.head:
            self._broken = self._broken or BadRequest(
                f"the headers are larger than {self._port.limits.head} bytes", 431, "too_large"
            )
            if self._moved:
                raise self._broken

    def _refuse(self, error: BadRequest) -> None:
        """Stop the parser, from within one of its calls."""
        self._broken = error
        raise error

    def _break(self, error: BadRequest) -> None:
        """Refuse from outside of the parser."""
        self._broken = error
        self._line_up()


def _misread(error: HttpParserError) -> BadRequest:
    """Blame the client, unless it was a call of ours that failed."""
    if isinstance(error, HttpParserCallbackError):
        log.error("reading a request failed: this is a bug of Sluice", exc_info=error)
        return BadRequest("internal error: see the log of Sluice", 500, "internal")
    return BadRequest(f"this is not a request of HTTP/1.1: {error}")


def _too_large(limits: Limits) -> BadRequest:
    return BadRequest(f"the body is larger than {limits.body} bytes", 413, "too_large")
