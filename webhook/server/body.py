"""Reading a request's body: JSON, not too large, not too deep, in good time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import orjson
from aiohttp import web

MIB: Final = 1024 * 1024
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request. An UPDATE carries two objects of up to 3 MiB as JSON, hence 8 MiB."""

    body: int = 8 * MIB
    depth: int = 200
    body_seconds: float = 5.0
    seconds: float = 9.0


class BadRequest(Exception):
    """A request that cannot be answered with a verdict. `status` is the HTTP status, `kind` the metric's label."""

    def __init__(self, message: str, status: int = 400, kind: str = "bad_request") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


async def read_json(request: web.Request, limits: Limits) -> Any:
    """Give the parsed body. Raises BadRequest: 413, 415, 408 or 400, with a sentence that says what is wrong."""
    headers = request.headers
    length = headers.get("Content-Length", "")
    if len(length) > 6 and length.isdigit() and int(length) > limits.body:
        raise _too_large(limits)
    if headers.get("Content-Type") != JSON and request.content_type != JSON:
        raise BadRequest(f'the content type is "{request.content_type}", not "application/json"', 415)
    data = await _read(request, limits)
    if not data:
        raise BadRequest("the body is empty")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if data.count(b"{") + data.count(b"[") > limits.depth and too_deep(document, limits.depth):
        raise BadRequest(f"the body is nested deeper than {limits.depth} levels")
    return document


async def _read(request: web.Request, limits: Limits) -> bytes:
    """Read the body; a timer is set only where it is not here already."""
    try:
        if request.content.is_eof():
            return await request.read()
        async with asyncio.timeout(limits.body_seconds):
            return await request.read()
    except TimeoutError:
        raise BadRequest(f"the body did not arrive within {limits.body_seconds:g} s", 408, "timeout") from None
    except web.HTTPRequestEntityTooLarge:
        raise _too_large(limits) from None


def _too_large(limits: Limits) -> BadRequest:
    return BadRequest(f"the body is larger than {limits.body} bytes", 413, "too_large")


def too_deep(document: Any, limit: int) -> bool:
    """Say whether lists and maps are nested deeper than `limit`, without recursion."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(limit):
        children = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True
