"""`/livez`, `/readyz` and `/metrics`: plain text, no secrets, also on a port of their own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.health import Health
from webhook.server.messages import TEXT, Answer, Call, Handler

METRICS = CONTENT_TYPE_PLAIN_0_0_4.encode()


def state_routes(health: Health, registry: CollectorRegistry) -> dict[tuple[bytes, bytes], Handler]:
    """Make the three routes, for GET and HEAD."""

    def live(_: Call) -> Answer:
        return Answer(b"ok\n", content_type=TEXT)

    def ready(call: Call) -> Answer:
        good = health.ready()
        text = "\n".join(health.lines()) + "\n" if not good or call.parameter("verbose") is not None else ""
        return Answer(f"{text}{'ok' if good else 'not ready'}\n".encode(), 200 if good else 503, TEXT)

    def metrics(_: Call) -> Answer:
        return Answer(generate_latest(registry), content_type=METRICS)

    handlers = {b"/livez": live, b"/readyz": ready, b"/metrics": metrics}
    return {(method, path): handler for path, handler in handlers.items() for method in (b"GET", b"HEAD")}
