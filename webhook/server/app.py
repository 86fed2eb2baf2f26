"""The application: paths to handlers, and what goes wrong to an answer. Nothing here is started, no port is opened."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from aiohttp import hdrs, web
from prometheus_client import CollectorRegistry

from webhook.cel.errors import Interrupted
from webhook.server.body import check_type, read_body
from webhook.server.clients import ClientCheck
from webhook.server.deadlines import Review
from webhook.server.engine import Engine
from webhook.server.health import Health
from webhook.server.limits import STATE, WEBHOOK, Limits
from webhook.server.metrics import ServerMetrics
from webhook.server.responses import StatusError, status_response
from webhook.server.review_batches import ReviewBatches
from webhook.server.routes.admission import admission
from webhook.server.routes.conversion import Convert, conversion
from webhook.server.routes.health import Handler, health_routes
from webhook.server.routes.metrics import metrics_routes

log = logging.getLogger(__name__)

CONVERT: Final = "/convert"
BodyHandler = Callable[[web.BaseRequest, bytes | bytearray], Awaitable[web.StreamResponse]]
"""Answers a POST, with its body."""


@dataclass(frozen=True, slots=True)
class App:
    """All routes of a port. Calling it never raises: a bad request becomes a 4xx, a bug of ours a 500.

    A 500 lets the webhook's failurePolicy decide, as the API server does for any webhook that cannot answer.
    `state` is answered for GET and HEAD from memory, whatever else is under way; `reviews` for POST.
    """

    state: Mapping[str, Handler]
    metrics: ServerMetrics
    limits: Limits = WEBHOOK
    reviews: Mapping[str, BodyHandler] = field(default_factory=dict)
    check_client: ClientCheck | None = None
    """Asked before a verdict. Not before a conversion: for those the API server has no way to show a certificate."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        method, path = request.method, request.rel_url.raw_path
        try:
            if method == "POST" and (review := self.reviews.get(path)) is not None:
                return await self._review(request, review)
            if method in ("GET", "HEAD") and (state := self.state.get(path)) is not None:
                return await state(request)
            return self._lost(path)
        except (Exception, Interrupted) as error:
            response = self._failed(method, path, error)
            if not request.content.is_eof():
                response.force_close()
            return response

    def refuse(self, error: StatusError) -> web.Response:
        """Answer what gets no verdict, and count it."""
        self.metrics.failures[error.kind] += 1
        return status_response(error.status, str(error))

    async def _review(self, request: web.BaseRequest, review: BodyHandler) -> web.StreamResponse:
        metrics = self.metrics
        if metrics.in_flight >= self.limits.reviews:
            raise StatusError("too many requests at once", 503, "busy")
        if self.check_client is not None and request.rel_url.raw_path != CONVERT:
            self.check_client(request)
        check_type(request.headers.get(hdrs.CONTENT_TYPE, ""))
        metrics.in_flight += 1
        try:
            return await review(request, await read_body(request, self.limits))
        finally:
            metrics.in_flight -= 1

    def _failed(self, method: str, path: str, error: BaseException) -> web.Response:
        if isinstance(error, StatusError):
            return self.refuse(error)
        if isinstance(error, TimeoutError):
            return self.refuse(StatusError("no verdict within the API server's timeout", 504, "timeout"))
        if isinstance(error, Interrupted):
            return self.refuse(StatusError(str(error), 500, "interrupted"))
        if isinstance(error, ConnectionError):
            return self.refuse(StatusError("the client closed the connection", 400, "disconnected"))
        log.error("%s %s failed: this is a bug in Sluice", method, path, exc_info=error)
        return self.refuse(StatusError("internal error: see Sluice's log", 500, "internal"))

    def _lost(self, path: str) -> web.Response:
        """Return 404, or 405 where the path is known by another method. Neither counts as a failure."""
        allowed = "GET, HEAD" if path in self.state else "POST" if path in self.reviews else ""
        if not allowed:
            return status_response(404, "Not Found")
        return status_response(405, "Method Not Allowed", Allow=allowed)


def state_routes(health: Health, registry: CollectorRegistry) -> Mapping[str, Handler]:
    """Return the routes that are answered from memory: health and metrics."""
    return health_routes(health) | metrics_routes(registry)


def make_state_app(state: Mapping[str, Handler], metrics: ServerMetrics) -> App:
    """Make the application of the plain port."""
    return App(state, metrics, STATE)


def make_app(
    engine: Engine,
    convert: Convert,
    state: Mapping[str, Handler],
    metrics: ServerMetrics,
    limits: Limits = WEBHOOK,
    check_client: ClientCheck | None = None,
) -> App:
    """Make the application of the admission port."""
    batches = ReviewBatches()
    reviews: dict[str, BodyHandler] = {CONVERT: conversion(convert, metrics)}
    stages: dict[str, Review] = {"mutate": engine.mutate, "validate": engine.validate}
    for name, review in stages.items():
        reviews[f"/{name}"] = admission(name, review, engine, batches, limits, metrics)
        for only in ("fail", "ignore"):
            reviews[f"/{name}/{only}"] = admission(name, partial(review, only=only), engine, batches, limits, metrics)
    return App(state, metrics, limits, reviews, check_client)
