"""A request's body: read from its connection within the bounds of size and time, and as JSON within those of depth."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson
from aiohttp import hdrs, web
from aiohttp.http_writer import HttpVersion11
from aiohttp.streams import StreamReader

from webhook.server.connection import Connection
from webhook.server.limits import Limits
from webhook.server.responses import StatusError

DEEPEST: Final = 254
"""Levels of lists and maps that orjson writes; what is deeper we could not hand on."""
MAX_LISTS_AND_MAPS: Final = 2**18
"""Lists and maps of one body. Each takes up to 30 times its bytes when it is parsed; a real object of 3 MiB has some
tens of thousands. An opening bracket inside of a text counts as well: it is counted before anything is parsed."""
SPARSE: Final = 24 * DEEPEST
"""Bytes of an ordinary object that has DEEPEST lists and maps: in a longer body it does not help to count them."""
NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"{[")


def check_type(content_type: str) -> None:
    """Refuse a Content-Type that is not JSON. Raises StatusError: 415."""
    if content_type == "application/json":
        return
    kind = content_type.partition(";")[0].strip().lower() or "application/octet-stream"
    if kind != "application/json":
        raise StatusError(f'the content type is "{kind}", not "application/json"', 415)


async def read_body(request: web.BaseRequest, limits: Limits) -> bytes | bytearray:
    """Return the body. Raises StatusError: 413, 417 and 503 before it is read, if its length is announced; 408.

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


def read_json(data: bytes | bytearray) -> Any:
    """Return the parsed body. Raises StatusError: 413 or 400, with a sentence that says what is wrong."""
    if not data:
        raise StatusError("the body is empty")
    if len(data) > MAX_LISTS_AND_MAPS and _brackets(data) > MAX_LISTS_AND_MAPS:
        raise StatusError(f"the body has more than {MAX_LISTS_AND_MAPS} lists and maps", 413, "too_large")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise StatusError(f"the body is not JSON: {error}") from None
    if (len(data) > SPARSE or _brackets(data) > DEEPEST) and _too_deep(document):
        raise StatusError(f"the body is nested deeper than {DEEPEST} levels")
    return document


def _brackets(data: bytes | bytearray) -> int:
    return len(data.translate(None, NO_BRACKETS))


def _too_deep(document: Any) -> bool:
    """Return whether lists and maps are nested deeper than DEEPEST levels. Writing takes a hundredth of a walk."""
    try:
        orjson.dumps(document)
    except orjson.JSONEncodeError:
        return True
    return False
