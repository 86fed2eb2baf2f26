"""Before anything is served: wait for files that another container brings, and say so at the state port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from webhook.server.app import make_state_app, state_routes
from webhook.server.health import Health, HealthCondition
from webhook.server.listener import Listener
from webhook.server.metrics import ServerMetrics

log = logging.getLogger(__name__)

EVERY: Final = 0.5
"""Seconds between two looks."""


async def wait_for(paths: Sequence[Path], address: str, stop: asyncio.Event) -> None:
    """Wait until all paths exist, or for `stop`. Meanwhile `/livez` is good and `/readyz` names what is missing.

    `address` is that of the state port, empty for none. Raises OSError where it cannot be opened.
    """
    if not _missing(paths):
        return
    log.warning("not ready: %s", _missing(paths))
    health = Health()
    health.add("policies", lambda: HealthCondition(False, _missing(paths)))
    app = make_state_app(state_routes(health, CollectorRegistry()), ServerMetrics())
    listener = Listener(app, "--state-listen", address) if address else None
    if listener is not None:
        await listener.start()
    try:
        while _missing(paths) and not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), EVERY)
    finally:
        if listener is not None:
            await listener.stop()


def _missing(paths: Sequence[Path]) -> str:
    """Return what is missing; empty if nothing is."""
    names = [str(path) for path in paths if not path.exists()]
    return f"waiting for {', '.join(names)}, which {'does' if len(names) == 1 else 'do'} not exist yet" if names else ""
