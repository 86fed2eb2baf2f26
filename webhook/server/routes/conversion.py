"""`/convert`: ConversionReview in and out, for the served versions of the queue's objects.

What converts is `conversion_review` in `webhook/api/conversion/convert.py`; `webhook/daemon.py` hands it in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import orjson
from aiohttp import web

from webhook.server.body import read_json
from webhook.server.metrics import ServerMetrics
from webhook.server.responses import JsonResponse, StatusError

Convert = Callable[[dict[str, Any]], dict[str, Any]]


def conversion(
    convert: Convert, metrics: ServerMetrics
) -> Callable[[web.BaseRequest, bytes | bytearray], Awaitable[web.StreamResponse]]:
    """Make the handler."""

    async def handle(_: web.BaseRequest, body: bytes | bytearray) -> web.StreamResponse:
        start = perf_counter()
        document = read_json(body)
        if not isinstance(document, dict) or document.get("kind") != "ConversionReview":
            raise StatusError("the body is not a ConversionReview")
        if document.get("apiVersion") != "apiextensions.k8s.io/v1" or not isinstance(document.get("request"), dict):
            raise StatusError("expected a ConversionReview of apiextensions.k8s.io/v1 with a request")
        answer = orjson.dumps(convert(document))
        metrics.timings["convert"].observe(perf_counter() - start)
        return JsonResponse(answer)

    return handle
