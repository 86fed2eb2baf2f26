"""Reading a request's body from its connection, within the bounds of size and time. Its text is `json_body`'s."""

from __future__ import annotations

import asyncio

from aiohttp import hdrs, web
from aiohttp.http_writer import HttpVersion11
from aiohttp.streams import StreamReader

from webhook.server.connection import Connection
from webhook.server.limits import Limits
from webhook.server.responses import StatusError


async def read_body(request: web.BaseRequest, limits: Limits) -> bytes | bytearray:
    """Give the whole body. Raises StatusError: 413, 417 and 503 before it is read, where its length is announced; 408.

    A body of no announced length is taken to be as long as it may be.
    """
    content, connection = request.content, request.protocol
    assert isinstance(connection, Connection)
    whole = content.is_eof()
    size = content.total_bytes if whole else request.content_length
    if size is None:
        size = limits.body
    elif size > limits.body:
        raise _too_large(limits)
    if size > limits.small and not connection.hold(size):
        raise StatusError("too many large requests at once", 503, "busy")
    if whole:
        connection.take()
        return content.read_nowait()
    await _ask_for_it(request)
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _rest(content, connection, limits)
    except TimeoutError:
        message = f"the body did not arrive within {limits.body_seconds:g} s"
        raise StatusError(message, 408, "timeout") from None
    except web.RequestPayloadError as error:
        raise StatusError(f"invalid HTTP/1.1 body: {error}") from None


async def _rest(content: StreamReader, connection: Connection, limits: Limits) -> bytearray:
    body = bytearray()
    try:
        while chunk := await content.readany():
            connection.take()
            body += chunk
            if len(body) > limits.body:
                raise _too_large(limits)
    except BaseException:
        body.clear()  # aiohttp keeps the error of a client who has left, and that this frame
        raise
    return body


async def _ask_for_it(request: web.BaseRequest) -> None:
    """Send `100 Continue` to a client that waits for it (RFC 9110, 10.1.1)."""
    expected = request.headers.get(hdrs.EXPECT)
    if expected is None or request.version < HttpVersion11:
        return
    if expected.lower() != "100-continue":
        raise StatusError("unsupported Expect header: only 100-continue is supported", 417)
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0


def _too_large(limits: Limits) -> StatusError:
    return StatusError(f"the body is larger than {limits.body} bytes", 413, "too_large")
