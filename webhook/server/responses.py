"""What is answered: JSON, text, or a `Status` object that says why there is no verdict."""

from __future__ import annotations

from typing import Final

import orjson
from aiohttp import web

_JSON: Final = {"Content-Type": "application/json", "Server": "Sluice"}
TEXT: Final = "text/plain; charset=utf-8"
RETRY_AFTER: Final = "1"
"""Seconds. The API server sends a call with this answer again by itself, within the webhook's timeout."""


class StatusError(Exception):
    """A request that gets no verdict. `status` is the HTTP status, `kind` the label of the metric."""

    def __init__(self, message: str, status: int = 400, kind: str = "bad_request") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


def json_response(body: bytes) -> web.Response:
    """Answer with JSON text."""
    return web.Response(body=body, headers=_JSON)


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
