"""`/metrics`: every metric of the process in Prometheus' text format, also on the port of the health checks.

The text of a thousand queues takes most of a second, so it is written in a thread while reviews go on; one at a time,
however many ask.
"""

from __future__ import annotations

import asyncio

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.responses import text_response
from webhook.server.routes.health import Handler


def metrics_routes(registry: CollectorRegistry) -> dict[str, Handler]:
    """Make the handler."""
    one = asyncio.Lock()

    async def metrics(_: web.BaseRequest) -> web.Response:
        async with one:
            text = await asyncio.to_thread(generate_latest, registry)
        return text_response(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return {"/metrics": metrics}
