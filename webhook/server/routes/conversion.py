"""`/convert`: ConversionReview in and out, for the served versions of the queue's objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import orjson
from aiohttp import web

from webhook.server.body import BadRequest, Limits, read_json
from webhook.server.metrics import ServerMetrics

Convert = Callable[[dict[str, Any]], dict[str, Any]]


def conversion(convert: Convert, limits: Limits, metrics: ServerMetrics) -> Callable[[web.Request], Awaitable[Any]]:
    """Make the handler."""

    async def handle(http: web.Request) -> web.Response:
        document = await read_json(http, limits)
        start = perf_counter()
        if not isinstance(document, dict) or document.get("kind") != "ConversionReview":
            raise BadRequest("the body is not a ConversionReview")
        if document.get("apiVersion") != "apiextensions.k8s.io/v1" or not isinstance(document.get("request"), dict):
            raise BadRequest('the ConversionReview is not one of "apiextensions.k8s.io/v1" with a request')
        body = orjson.dumps(convert(document))
        metrics.timings["convert"].observe(perf_counter() - start)
        return web.Response(body=body, content_type="application/json")

    return handle
