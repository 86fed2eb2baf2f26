"""A load generator that costs little: prebuilt requests over kept TLS connections, latencies by request."""

import asyncio
import ssl
import time
from dataclasses import dataclass

import uvloop


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


def post(host: str, port: int, path: str, token: str, body: bytes) -> bytes:
    """A POST request as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def measure(target: Target, connections: int, seconds: float, warm: int = 100) -> Figures:
    """Send as fast as the answers come over so many connections; raises RuntimeError on a status of 400 or more."""
    return uvloop.run(_measure(target, connections, seconds, warm))


async def _measure(target: Target, connections: int, seconds: float, warm: int) -> Figures:
    context = ssl.create_default_context(cafile=target.ca)
    pipes = [await asyncio.open_connection(target.host, target.port, ssl=context) for _ in range(connections)]
    for _ in range(max(1, warm // connections)):
        await asyncio.gather(*(_once(target, *pipe) for pipe in pipes))
    latencies: list[float] = []
    began = time.perf_counter()
    end = began + seconds
    await asyncio.gather(*(_until(target, pipe, end, latencies) for pipe in pipes))
    took = time.perf_counter() - began
    for _, writer in pipes:
        writer.close()
    latencies.sort()
    count = len(latencies)
    return Figures(count / took, 1000 * latencies[count // 2], 1000 * latencies[count * 99 // 100], count)


async def _until(
    target: Target, pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter], end: float, latencies: list[float]
) -> None:
    now = time.perf_counter()
    while now < end:
        await _once(target, *pipe)
        then, now = now, time.perf_counter()
        latencies.append(now - then)


async def _once(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(target.request)
    head = await reader.readuntil(b"\r\n\r\n")
    body = await _body(head.lower(), reader)
    if head[9:10] != b"2":
        raise RuntimeError(f"{head[:40]!r} {body[:300]!r}")


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    if b"content-length: " in head:
        return await reader.readexactly(int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0]))
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(parts)
