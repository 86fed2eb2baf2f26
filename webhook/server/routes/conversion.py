"""`/convert`: ConversionReview in and out, for the served versions of the queue's objects."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import orjson

from webhook.server.body import read_json
from webhook.server.limits import Limits
from webhook.server.messages import Answer, BadRequest, Call, Handler
from webhook.server.metrics import ServerMetrics

Convert = Callable[[dict[str, Any]], dict[str, Any]]


def conversion(convert: Convert, limits: Limits, metrics: ServerMetrics) -> Handler:
    """Make the handler."""

    def handle(call: Call) -> Answer:
        start = perf_counter()
        document = read_json(call, limits)
        if not isinstance(document, dict) or document.get("kind") != "ConversionReview":
            raise BadRequest("the body is not a ConversionReview")
        if document.get("apiVersion") != "apiextensions.k8s.io/v1" or not isinstance(document.get("request"), dict):
            raise BadRequest('the ConversionReview is not one of "apiextensions.k8s.io/v1" with a request')
        body = orjson.dumps(convert(document))
        metrics.timings["convert"].observe(perf_counter() - start)
        return Answer(body)

    return handle
