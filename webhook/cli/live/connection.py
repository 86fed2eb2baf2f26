"""One piece of work against a cluster: connect, do it, close."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Final, TypeVar

from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.live_store import LiveStore

T = TypeVar("T")
PATIENT: Final = Pace(timeout=30.0)
"""A person waits: four seconds are the bound of a leader, which has a lease to renew."""


def with_store(do: Callable[[LiveStore], Awaitable[T]], kubeconfig: Path | None, context: str | None) -> T:
    """Return what `do` gives. Raises StoreError, or ValueError where no credentials can be used."""

    async def go() -> T:
        client = await Client.connect(kubeconfig, context, PATIENT, monotonic)
        try:
            return await do(LiveStore(client))
        finally:
            await client.close()

    return asyncio.run(go())
