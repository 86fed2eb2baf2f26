"""Requests as bytes, sent over a socket, and the answers read back."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from tests.server.serving import ScriptedEngine, review
from webhook.server.app import make_app, state_routes
from webhook.server.health import Health
from webhook.server.limits import Limits
from webhook.server.listener import Listener
from webhook.server.metrics import ServerMetrics

BODY = json.dumps(review()).encode()
END = b"\r\n\r\n"
LIVE = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
READY = b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"


def post(body=BODY, *headers, path="/validate", version="1.1"):
    """A POST as it goes over the wire."""
    lines = [f"POST {path} HTTP/{version}", "Host: localhost", "Content-Type: application/json", *headers]
    if not any(header.startswith(("Transfer", "Content-Length")) for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + END + body


def chunked(body, size):
    """A body in chunks of a size."""
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@dataclass
class Answer:
    """One response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self):
        """What a Status object says."""
        return json.loads(self.body)["message"]

    @property
    def uid(self):
        """Whom a verdict is for."""
        return json.loads(self.body)["response"]["uid"]


class Talk:
    """One connection to a served port."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def send(self, *pieces):
        """Send pieces, each by itself, for as long as the connection is there."""
        with suppress(ConnectionError):
            for piece in pieces:
                self.writer.write(piece)
                await self.writer.drain()
                await asyncio.sleep(0)
        return self

    async def answer(self, *, headless=False):
        """Read one answer; None where the connection ends instead."""
        try:
            head = (await self.reader.readuntil(END)).decode()
            first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            length = 0 if headless else int(headers.get("content-length", 0))
            return Answer(int(first.split()[1]), headers, await self.reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def answers(self):
        """Read answers until the connection ends."""
        found = []
        while (answer := await self.answer()) is not None:
            found.append(answer)
        return found

    async def ended(self):
        """Say that the connection has ended without a further byte; waits for it."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True


class Port:
    """A served port."""

    def __init__(self, listener, number, metrics, health):
        self.listener, self.number, self.metrics, self.health = listener, number, metrics, health

    @asynccontextmanager
    async def talk(self):
        """Open a connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.number)
        try:
            yield Talk(reader, writer)
        finally:
            writer.close()

    async def ask(self, *pieces):
        """Send pieces over a connection of their own; give the first answer."""
        async with self.talk() as talk:
            return await (await talk.send(*pieces)).answer()

    async def until(self, condition):
        """Wait for something that the server will come to."""
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@asynccontextmanager
async def port(engine=None, **limits):
    """Serve without TLS on a free port."""
    metrics, health, registry = ServerMetrics(), Health(), CollectorRegistry()
    registry.register(metrics)
    app = make_app(
        engine or ScriptedEngine(),
        lambda document: document,
        state_routes(health, registry),
        metrics,
        Limits(**limits),
    )
    listener = Listener(app, "--listen", "127.0.0.1:0")
    served = Port(listener, await listener.start(), metrics, health)
    try:
        yield served
    finally:
        await listener.stop()
    held = listener.port
    assert (held.unread, held.large_bodies, len(held.connections), metrics.in_flight) == (0, 0, 0, 0)
