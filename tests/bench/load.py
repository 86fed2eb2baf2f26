"""A load generator that costs little, since it shares the cores with what it measures.

Prebuilt requests over kept TLS connections, a bare protocol on uvloop, one request in flight on each connection.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import uvloop

WARM = 112
"""Requests before the clock starts, over all connections."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where and what to send: a whole HTTP/1.1 request as bytes."""

    host: str
    port: int
    ca: str
    request: bytes


@dataclass(frozen=True, slots=True)
class Figures:
    """Requests a second, and latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    requests: int
    longest: float = 0.0
    cpu: float = 0.0
    """Microseconds a request, by the meter that was given."""


def post(host: str, port: int, path: str, body: bytes, token: str = "") -> bytes:
    """A POST request as it goes over the wire."""
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{bearer}Accept: application/json\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def measure(target: Target, connections: int, seconds: float, warm: int = WARM) -> Figures:
    """Send as fast as the answers come over so many connections; raises RuntimeError on a status that is no 2xx."""
    return uvloop.run(drive(target, connections, seconds, warm))


async def drive(
    target: Target, connections: int, seconds: float, warm: int = WARM, meter: Callable[[], float] = float
) -> Figures:
    """The same, in a running loop. `meter` tells processor seconds; read behind the handshakes and the warm-up."""
    loop = asyncio.get_running_loop()
    context = ssl.create_default_context(cafile=target.ca)
    pipes = []
    for _ in range(connections):
        made = await loop.create_connection(lambda: _Pipe(target.request), target.host, target.port, ssl=context)
        pipes.append(made[1])
    try:
        for _ in range(max(1, warm // connections)):
            await asyncio.gather(*(pipe.until(0.0) for pipe in pipes))
        for pipe in pipes:
            pipe.latencies.clear()
        began, used = perf_counter(), meter()
        await asyncio.gather(*(pipe.until(began + seconds) for pipe in pipes))
        took, used = perf_counter() - began, meter() - used
    finally:
        for pipe in pipes:
            pipe.transport.abort()
    latencies = sorted(latency for pipe in pipes for latency in pipe.latencies)
    count = len(latencies)
    middle, high, longest = (1000 * latencies[at] for at in (count // 2, count * 99 // 100, -1))
    return Figures(count / took, middle, high, count, longest, 1e6 * used / count)


class _Pipe(asyncio.Protocol):
    """One connection: sends the request again as soon as its answer is whole."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.latencies: list[float] = []
        self.buffer = b""
        self.end = self.sent = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail where an answer is awaited."""
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"the connection was closed: {exc}"))

    def until(self, end: float) -> "asyncio.Future[None]":
        """Send once, and again until `end`."""
        self.end, self.done = end, asyncio.get_running_loop().create_future()
        self.sent = perf_counter()
        self.transport.write(self.request)
        return self.done

    def data_received(self, data: bytes) -> None:
        """Look whether the answer is whole."""
        self.buffer = data = self.buffer + data if self.buffer else data
        if not whole(data):
            return
        self.buffer = b""
        now = perf_counter()
        self.latencies.append(now - self.sent)
        if data[9:10] != b"2":
            self.done.set_exception(RuntimeError(f"{data[:600]!r}"))
        elif now < self.end:
            self.sent = now
            self.transport.write(self.request)
        else:
            self.done.set_result(None)


def whole(data: bytes) -> bool:
    """Say whether a response is here to its last byte."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = data[:end].lower()
    at = head.find(b"\r\ncontent-length: ")
    if at < 0:
        return data.endswith(b"\r\n0\r\n\r\n")
    line = head.find(b"\r\n", at + 18)
    return len(data) >= end + 4 + int(head[at + 18 : line if line >= 0 else end])


def cpu(pid: int) -> float:
    """CPU seconds that all threads of a process have used, in user and system mode, to the nanosecond."""
    spent = (path.read_text().split()[0] for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(map(int, spent)) / 1e9


def resident(pid: int) -> float:
    """Resident memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
