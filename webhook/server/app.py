"""The application: a list of routes and a list of middleware, put together by a constructor."""

from __future__ import annotations

from functools import partial

from aiohttp import web
from prometheus_client import CollectorRegistry

from webhook.server.body import Limits
from webhook.server.engine import Engine
from webhook.server.health import Health
from webhook.server.metrics import ServerMetrics
from webhook.server.middleware.failures import failures
from webhook.server.routes.admission import Review, admission
from webhook.server.routes.conversion import Convert, conversion
from webhook.server.routes.state import state_routes


def make_app(
    engine: Engine,
    convert: Convert,
    *,
    health: Health,
    metrics: ServerMetrics,
    registry: CollectorRegistry,
    limits: Limits | None = None,
) -> web.Application:
    """Make the admission application. Nothing is started, no port is opened."""
    bounds = limits or Limits()
    app = web.Application(client_max_size=bounds.body, middlewares=[failures(metrics)])
    reviews: dict[str, Review] = {"mutate": engine.mutate, "validate": engine.validate}
    for name, review in reviews.items():
        app.router.add_post(f"/{name}", admission(name, review, engine, bounds, metrics))
        for only in ("fail", "ignore"):
            part = admission(name, partial(review, only=only), engine, bounds, metrics)
            app.router.add_post(f"/{name}/{only}", part)
    app.add_routes(
        [
            web.post("/convert", conversion(convert, bounds, metrics)),
            *state_routes(health, registry),
        ]
    )
    return app


def make_state_app(health: Health, registry: CollectorRegistry) -> web.Application:
    """Make the application of the plain port: health and metrics only."""
    app = web.Application()
    app.add_routes(state_routes(health, registry))
    return app
