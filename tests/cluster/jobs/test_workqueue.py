"""The queue of keys to look at: however many wait, and whatever a look does, the loop has its turn."""

import asyncio

import pytest

from tests.cluster.turns import Turns
from tests.patience import until
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

        queue = WorkQueue[int](work, 4, lambda key: False)
        for key in range(500):
            queue.add(key)
        async with turns:
            queue.start()
            await turns.until(500)
            await queue.stop()
        return turns

    assert asyncio.run(go()).most <= 8


def test_urgent_keys_go_first():
    """Those that came later too, and one that became urgent while it waited, which is looked at once."""
    urgent: set[int] = set()

    async def go():
        looked = []

        async def work(key: int) -> None:
            looked.append(key)

        queue = WorkQueue[int](work, 1, urgent.__contains__)
        for key in range(6):
            queue.add(key)
        urgent.update((4, 7))
        for key in (4, 7, 2, 8):
            queue.add(key)
        queue.start()
        await until(lambda: len(looked) == 8, "all keys are looked at")
        await asyncio.sleep(0)
        await queue.stop()
        return looked

    assert asyncio.run(go()) == [4, 7, 0, 1, 2, 3, 5, 8]


def test_urgent_keys_do_not_hold_up_others():
    """Where urgent keys come without end, each fifth look is at another."""

    async def go():
        looked = []

        async def work(key: int) -> None:
            looked.append(key)
            if 0 < key < 12:
                queue.add(key + 1)

        queue = WorkQueue[int](work, 1, lambda key: key > 0)
        queue.add(0)
        queue.add(-1)
        queue.add(1)
        queue.start()
        await until(lambda: 12 in looked, "the last key is looked at")
        await queue.stop()
        return looked

    assert asyncio.run(go()) == [1, 2, 3, 0, 4, 5, 6, 7, -1, 8, 9, 10, 11, 12]
