"""Reading a request's body as JSON: of the right type, not empty, not too deep."""

from __future__ import annotations

from typing import Any, Final

import orjson

from webhook.server.limits import Limits
from webhook.server.messages import JSON, BadRequest, Call

DEEPEST: Final = 254
"""Levels of lists and maps that orjson writes; what is deeper we could not hand on."""
SHORT: Final = 8192
"""Bytes of a body up to which its brackets are counted: in a longer one there are more than DEEPEST in any case."""
NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"{[")


def read_json(call: Call, limits: Limits) -> Any:
    """Give the parsed body. Raises BadRequest: 415 or 400, with a sentence that says what is wrong."""
    if call.content_type != JSON and (kind := _media_type(call.content_type)) != "application/json":
        raise BadRequest(f'the content type is "{kind}", not "application/json"', 415)
    data = call.body
    if not data:
        raise BadRequest("the body is empty")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if (len(data) > SHORT or len(data.translate(None, NO_BRACKETS)) > DEEPEST) and too_deep(document):
        raise BadRequest(f"the body is nested deeper than {DEEPEST} levels")
    return document


def _media_type(header: bytes) -> str:
    return header.partition(b";")[0].strip().lower().decode("latin-1") or "application/octet-stream"


def too_deep(document: Any) -> bool:
    """Say whether lists and maps are nested deeper than DEEPEST levels. Writing takes a hundredth of a walk."""
    try:
        orjson.dumps(document)
    except orjson.JSONEncodeError:
        return True
    return False
