"""Batches of reviews: what waits is done in its order, in one go, but not for long; who has left is left out."""

import asyncio
import gc
import weakref
from functools import partial

import pytest

from webhook.cel.errors import Interrupted
from webhook.server import review_batches
from webhook.server.review_batches import ReviewBatches


def test_what_waits_is_done_in_one_go_and_in_its_order():
    """All that was there when the batch began is done before anybody hears of it."""
    done = []

    async def one(waiting, name):
        heard = await waiting.take(lambda: done.append(name) or len(done))
        return name, heard, len(done)

    async def go():
        waiting = ReviewBatches()
        return await asyncio.gather(*(one(waiting, name) for name in "abc"))

    assert asyncio.run(go()) == [("a", 1, 3), ("b", 2, 3), ("c", 3, 3)]


def test_a_batch_ends_when_it_has_taken_its_time(monkeypatch):
    """What comes behind a long one waits for the next batch; what is done is heard of before."""
    monkeypatch.setattr(review_batches, "LONGEST", -1.0)
    heard = []

    async def one(waiting, name):
        await waiting.take(lambda: heard.append(f"{name} begins"))
        heard.append(f"{name} is answered")

    async def go():
        waiting = ReviewBatches()
        await asyncio.gather(*(one(waiting, name) for name in "ab"))

    asyncio.run(go())
    assert heard == ["a begins", "a is answered", "b begins", "b is answered"]


@pytest.mark.parametrize("error", [ValueError("x"), Interrupted("x")])
def test_what_goes_wrong_is_told_to_who_asked(error):
    """An error is raised where its work was awaited, and the others are done."""

    def wrong():
        raise error

    async def go():
        waiting = ReviewBatches()
        return await asyncio.gather(waiting.take(wrong), waiting.take(lambda: 1), return_exceptions=True)

    assert asyncio.run(go()) == [error, 1]


def test_who_does_not_wait_any_more_is_left_out():
    """A cancelled task's work is not done."""
    done = []

    async def go():
        waiting = ReviewBatches()
        gone = waiting.take(lambda: done.append("gone"))
        here = waiting.take(lambda: done.append("here"))
        gone.cancel()
        await here

    asyncio.run(go())
    assert done == ["here"]


def test_an_error_holds_on_to_nothing():
    """What raised an error goes with it, without a look for garbage: a body may have 8 MiB."""

    class Body:
        pass

    def refuse(body):
        raise ValueError(body.__class__)

    async def go():
        waiting, body = ReviewBatches(), Body()
        left = weakref.ref(body)
        with pytest.raises(ValueError, match="Body"):
            await waiting.take(partial(refuse, body))
        del body
        return left

    gc.disable()
    try:
        assert asyncio.run(go())() is None
    finally:
        gc.enable()
