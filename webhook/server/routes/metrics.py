"""`/metrics`: every metric of the process in Prometheus' text format, also on the port of the health checks."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.responses import text_response


def metrics_routes(registry: CollectorRegistry) -> dict[str, Callable[[web.BaseRequest], web.Response]]:
    """Make the handler."""

    def metrics(_: web.BaseRequest) -> web.Response:
        return text_response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return {"/metrics": metrics}
