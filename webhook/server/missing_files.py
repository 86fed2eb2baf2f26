"""Before anything is served: wait for files that another container brings, and say so at the state port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from webhook.server.not_ready import waiting

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
"""Seconds between two looks."""


async def wait_for(paths: Sequence[Path], address: str, stop: asyncio.Event) -> None:
    """Wait until all paths exist, or for `stop`. Meanwhile `/livez` is good and `/readyz` names what is missing.

    `address` is that of the state port, empty for none. Raises OSError where it cannot be opened.
    """
    if not _missing(paths):
        return
    log.warning("not ready: %s", _missing(paths))
    async with waiting(address, "policies", lambda: _missing(paths)):
        while _missing(paths) and not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_SECONDS)


def _missing(paths: Sequence[Path]) -> str:
    """Return what is missing; empty if nothing is."""
    names = [str(path) for path in paths if not path.exists()]
    return f"waiting for {', '.join(names)}, which {'does' if len(names) == 1 else 'do'} not exist yet" if names else ""
