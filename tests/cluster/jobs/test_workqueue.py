"""The queue of keys to look at: however many wait, and whatever a look does, the loop has its turn."""

import asyncio

import pytest

from tests.cluster.turns import Turns
from webhook.cluster.jobs.workqueue import WorkQueue


async def nothing() -> None:
    """A look that writes nothing."""


async def failing() -> None:
    """A look that fails at once."""
    raise ValueError("a bug")


@pytest.mark.parametrize("look", [nothing, failing])
def test_looks_give_way(monkeypatch, look):
    """By a clock of half a millisecond a look, a slice of two milliseconds has four, and each worker one more."""

    async def go():
        turns = Turns(monkeypatch, 0.0005)

        async def work(key: int) -> None:
            turns.count()
            await look()

        queue = WorkQueue[int](work, 4)
        for key in range(500):
            queue.add(key)
        async with turns:
            queue.start()
            await turns.until(500)
            await queue.stop()
        return turns

    assert asyncio.run(go()).most <= 8
