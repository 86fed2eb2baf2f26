"""The application: paths to handlers, and what goes wrong to an answer. Nothing here is started, no port is opened."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from webhook.cel.errors import Interrupted
from webhook.server.alarm import Review
from webhook.server.engine import Engine
from webhook.server.health import Health
from webhook.server.limits import Limits
from webhook.server.messages import Answer, BadRequest, Call, Handler, problem
from webhook.server.metrics import ServerMetrics
from webhook.server.routes.admission import admission
from webhook.server.routes.conversion import Convert, conversion
from webhook.server.routes.state import state_routes

log = logging.getLogger(__name__)
Routes = Mapping[tuple[bytes, bytes], Handler]
"""Handlers by method and path."""


@dataclass(frozen=True, slots=True)
class App:
    """All routes of a port. Calling it never raises: a bad request becomes a 4xx, a bug of ours a 500.

    A 500 lets the webhook's failurePolicy decide, as the API server does for any webhook that cannot answer.
    """

    routes: Routes
    metrics: ServerMetrics
    limits: Limits

    def __call__(self, call: Call) -> Answer | Awaitable[Answer]:
        """Answer a request, at once where that is possible."""
        handler = self.routes.get((call.method, call.path))
        if handler is None:
            return self._lost(call)
        try:
            answer = handler(call)
        except (Exception, Interrupted) as error:
            return self._failed(call, error)
        return answer if type(answer) is Answer else self._wait(call, answer)  # type: ignore[arg-type]

    def refuse(self, error: BadRequest) -> Answer:
        """Answer what cannot be answered with a verdict, and count it."""
        self.metrics.failures[error.kind] += 1
        return problem(error.status, str(error))

    async def _wait(self, call: Call, answer: Awaitable[Answer]) -> Answer:
        self.metrics.in_flight += 1
        try:
            return await answer
        except (Exception, Interrupted) as error:
            return self._failed(call, error)
        finally:
            self.metrics.in_flight -= 1

    def _failed(self, call: Call, error: BaseException) -> Answer:
        if isinstance(error, BadRequest):
            return self.refuse(error)
        if isinstance(error, TimeoutError):
            return self.refuse(BadRequest("no verdict within the time the API server waits", 504, "timeout"))
        if isinstance(error, Interrupted):
            return self.refuse(BadRequest(str(error), 500, "interrupted"))
        log.error("%s %s failed: this is a bug of Sluice", call.method, call.path, exc_info=error)
        return self.refuse(BadRequest("internal error: see the log of Sluice", 500, "internal"))

    def _lost(self, call: Call) -> Answer:
        """Say 404, or 405 where the path is known by another method. Neither counts as a failure."""
        allowed = b", ".join(method for method, path in self.routes if path == call.path)
        if not allowed:
            return problem(404, "Not Found")
        return problem(405, "Method Not Allowed", b"Allow: %b\r\n" % allowed)


def make_app(
    engine: Engine,
    convert: Convert,
    *,
    health: Health,
    metrics: ServerMetrics,
    registry: CollectorRegistry,
    limits: Limits | None = None,
) -> App:
    """Make the application of the admission port."""
    bounds = limits or Limits()
    routes = {**state_routes(health, registry), (b"POST", b"/convert"): conversion(convert, bounds, metrics)}
    reviews: dict[str, Review] = {"mutate": engine.mutate, "validate": engine.validate}
    for name, review in reviews.items():
        routes[b"POST", f"/{name}".encode()] = admission(name, review, engine, bounds, metrics)
        for only in ("fail", "ignore"):
            part = admission(name, partial(review, only=only), engine, bounds, metrics)
            routes[b"POST", f"/{name}/{only}".encode()] = part
    return App(routes, metrics, bounds)


def make_state_app(health: Health, metrics: ServerMetrics, registry: CollectorRegistry) -> App:
    """Make the application of the plain port: health and metrics only."""
    return App(state_routes(health, registry), metrics, Limits())
