"""What a handler is given and gives back: a whole request, a whole answer. Bytes on the wire are in `http`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

import orjson

JSON: Final = b"application/json"
TEXT: Final = b"text/plain; charset=utf-8"


@dataclass(slots=True)
class Call:
    """One request that is here as a whole."""

    method: bytes
    path: bytes
    query: bytes
    content_type: bytes
    body: bytes | bytearray

    def parameter(self, name: str) -> str | None:
        """Give the value of a parameter of the query, the first one; None where it is not there."""
        pairs = parse_qsl(self.query.decode("latin-1"), keep_blank_values=True)
        return next((value for key, value in pairs if key == name), None)


@dataclass(slots=True)
class Answer:
    """One response. `extra` are whole header lines, each with its line end."""

    body: bytes
    status: int = 200
    content_type: bytes = JSON
    extra: bytes = b""


Handler = Callable[[Call], Answer | Awaitable[Answer]]
"""Gives the answer at once, or something to wait for where it must wait itself."""


class BadRequest(Exception):
    """A request that cannot be answered with a verdict. `status` is the HTTP status, `kind` the metric's label."""

    def __init__(self, message: str, status: int = 400, kind: str = "bad_request") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


def problem(status: int, message: str, extra: bytes = b"") -> Answer:
    """Give a `Status` object, which is what the API server shows of a failed webhook call."""
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": status, "message": message}
    return Answer(orjson.dumps(body), status, JSON, extra)


_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


def wire(answer: Answer, date: bytes, *, close: bool, headless: bool = False) -> bytes:
    """Give an answer as HTTP/1.1 writes it; `headless` leaves out the body, as HEAD asks for (RFC 9110, 9.3.2)."""
    return b"%bContent-Type: %b\r\nContent-Length: %d\r\nDate: %b\r\n%b%b\r\n%b" % (
        _LINES[answer.status],
        answer.content_type,
        len(answer.body),
        date,
        answer.extra,
        b"Connection: close\r\n" if close else b"",
        b"" if headless else answer.body,
    )
