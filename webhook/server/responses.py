"""What is answered: JSON, text, or a `Status` object that says why there is no verdict."""

from __future__ import annotations

from typing import Final

import orjson
from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time

SERVER: Final = "Sluice"
_JSON: Final = {"Content-Type": "application/json", "Server": SERVER}
TEXT: Final = "text/plain; charset=utf-8"
RETRY_AFTER: Final = "1"
"""Seconds. The API server sends a call with this answer again by itself, within the webhook's timeout."""


class StatusError(Exception):
    """A request that gets no verdict. `status` is the HTTP status, `kind` the label of the metric."""

    def __init__(self, message: str, status: int = 400, kind: str = "bad_request") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class JsonResponse(web.StreamResponse):
    """JSON text, with status 200. Head and body go out as they are, in one write.

    What aiohttp's `Response` looks at besides (cookies, compression, chunks, payloads, HEAD) costs a review a tenth.
    """

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body, self.last = body, False

    @property
    def keep_alive(self) -> bool:
        """Whether the connection goes on behind this."""
        return not self.last

    def force_close(self) -> None:
        """Close the connection after this response."""
        self.last = True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Send it."""
        self.last = self.last or not request.keep_alive
        headers = self.headers
        headers[hdrs.CONTENT_TYPE] = "application/json"
        headers[hdrs.CONTENT_LENGTH] = str(len(self.body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        headers[hdrs.SERVER] = SERVER
        if self.last:
            headers[hdrs.CONNECTION] = "close"
        await request.writer.write_headers("HTTP/1.1 200 OK", headers)
        await request.writer.write_eof(self.body)
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to send."""


def text_response(body: bytes, status: int = 200, content_type: str = TEXT) -> web.Response:
    """Answer with plain text."""
    return web.Response(body=body, status=status, headers=_JSON | {"Content-Type": content_type})


def status_response(status: int, message: str, **headers: str) -> web.Response:
    """Answer with a `Status` object, which is what the API server shows of a failed webhook call.

    A message may repeat bytes of a header that are no UTF-8: they are shown as escapes.
    """
    message = message.encode("utf-8", "backslashreplace").decode()
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": status, "message": message}
    if status == 503:
        headers["Retry-After"] = RETRY_AFTER
    return web.Response(body=orjson.dumps(body), status=status, headers=_JSON | headers)
