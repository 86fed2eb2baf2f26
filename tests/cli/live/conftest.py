"""The live commands reach a cluster in memory in the place of the live one."""

import asyncio
import importlib

import pytest

from tests.cli.live.cluster import objects
from webhook.store.memory import MemoryStore


@pytest.fixture
def store(monkeypatch):
    """A cluster in memory, which the commands reach in the place of the live one."""
    made = MemoryStore()

    async def fill():
        for obj in objects():
            await made.create(obj)

    asyncio.run(fill())
    library = importlib.import_module("webhook.cli.live.connection")
    monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(made)))
    return made
