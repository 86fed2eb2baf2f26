"""Before anything is served: the state port alone, which says that the process lives and what it waits for."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from prometheus_client import CollectorRegistry

from webhook.server.app import make_state_app, state_routes
from webhook.server.health import Health, HealthCondition
from webhook.server.listener import Listener
from webhook.server.metrics import ServerMetrics


@contextlib.asynccontextmanager
async def waiting(address: str, name: str, why: Callable[[], str]) -> AsyncIterator[None]:
    """Meanwhile `/livez` is good and the condition `name` of `/readyz` is not: it says `why`.

    `address` is that of the state port, empty for none. Raises OSError where it cannot be opened.
    """
    health = Health()
    health.add(name, lambda: HealthCondition(False, why()))
    app = make_state_app(state_routes(health, CollectorRegistry()), ServerMetrics())
    listener = Listener(app, "--state-listen", address) if address else None
    if listener is not None:
        await listener.start()
    try:
        yield
    finally:
        if listener is not None:
            await listener.stop()
