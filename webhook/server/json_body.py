"""A body's bytes as JSON: of the right type, not empty, not too deep, not of too many parts."""

from __future__ import annotations

from typing import Any, Final

import orjson

from webhook.server.responses import StatusError

DEEPEST: Final = 254
"""Levels of lists and maps that orjson writes; what is deeper we could not hand on."""
MOST: Final = 2**18
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


def read_json(data: bytes | bytearray) -> Any:
    """Give the parsed body. Raises StatusError: 413 or 400, with a sentence that says what is wrong."""
    if not data:
        raise StatusError("the body is empty")
    if len(data) > MOST and _brackets(data) > MOST:
        raise StatusError(f"the body has more than {MOST} lists and maps", 413, "too_large")
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
    """Say whether lists and maps are nested deeper than DEEPEST levels. Writing takes a hundredth of a walk."""
    try:
        orjson.dumps(document)
    except orjson.JSONEncodeError:
        return True
    return False
