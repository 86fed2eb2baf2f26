"""`/livez`, `/readyz` and `/metrics`: plain text from memory, no secrets, also on a port of their own."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.health import Health
from webhook.server.responses import text_response

StateHandler = Callable[[web.BaseRequest], web.Response]


def state_routes(health: Health, registry: CollectorRegistry) -> dict[str, StateHandler]:
    """Make the three handlers."""

    def live(_: web.BaseRequest) -> web.Response:
        return text_response(b"ok\n")

    def ready(request: web.BaseRequest) -> web.Response:
        good = health.ready()
        text = "\n".join(health.lines()) + "\n" if not good or "verbose" in request.query else ""
        return text_response(f"{text}{'ok' if good else 'not ready'}\n".encode(), 200 if good else 503)

    def metrics(_: web.BaseRequest) -> web.Response:
        return text_response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return {"/livez": live, "/readyz": ready, "/metrics": metrics}
