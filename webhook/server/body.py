"""Reading a request's body as JSON: of the right type, not empty, not too deep."""

from __future__ import annotations

from typing import Any

import orjson

from webhook.server.limits import Limits
from webhook.server.messages import JSON, BadRequest, Call


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
    if data.count(b"{") + data.count(b"[") > limits.openings and too_deep(document):
        raise BadRequest("the body is nested deeper than 254 levels")
    return document


def _media_type(header: bytes) -> str:
    return header.partition(b";")[0].strip().lower().decode("latin-1") or "application/octet-stream"


def too_deep(document: Any) -> bool:
    """Say whether lists and maps are nested deeper than the 254 levels that orjson writes; we could not hand them on.

    Writing takes a hundredth of what a walk in Python does.
    """
    try:
        orjson.dumps(document)
    except orjson.JSONEncodeError:
        return True
    return False
