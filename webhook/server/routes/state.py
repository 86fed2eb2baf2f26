"""`/livez`, `/readyz` and `/metrics`: plain text, no secrets, also on a port of their own."""

from __future__ import annotations

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.health import Health


def state_routes(health: Health, registry: CollectorRegistry) -> list[web.RouteDef]:
    """Make the three routes."""

    async def live(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(http: web.Request) -> web.Response:
        good = health.ready()
        text = "\n".join(health.lines()) + "\n" if "verbose" in http.query or not good else ""
        return web.Response(text=f"{text}{'ok' if good else 'not ready'}\n", status=200 if good else 503)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return [web.get("/livez", live), web.get("/readyz", ready), web.get("/metrics", metrics)]
