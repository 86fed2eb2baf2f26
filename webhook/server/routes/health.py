"""`/livez` and `/readyz`: plain text from memory, no secrets, also on a port of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from webhook.server.health import Health
from webhook.server.responses import text_response

Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]


def health_routes(health: Health) -> dict[str, Handler]:
    """Make both handlers."""

    async def live(_: web.BaseRequest) -> web.Response:
        return text_response(b"ok\n")

    async def ready(request: web.BaseRequest) -> web.Response:
        good = health.ready()
        text = "\n".join(health.lines()) + "\n" if not good or "verbose" in request.query else ""
        return text_response(f"{text}{'ok' if good else 'not ready'}\n".encode(), 200 if good else 503)

    return {"/livez": live, "/readyz": ready}
