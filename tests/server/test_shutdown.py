"""The way down: idle connections close, what is under way is answered, the last answer says so, nothing goes on."""

import asyncio

import pytest
import uvloop

from tests.server.wire import LIVE, port, post


def test_while_draining_every_answer_is_the_last():
    """The port is still open, for those who have not heard yet; each answer tells its client to go elsewhere."""

    async def go():
        async with port() as served, served.talk() as talk:
            assert "connection" not in (await (await talk.send(post())).answer()).headers
            served.listener.drain()
            verdict = await (await talk.send(post())).answer()
            late = await served.ask(post())
            return verdict.status, verdict.headers["connection"], await talk.ended(), late.headers["connection"]

    assert uvloop.run(go()) == (200, "close", True, "close")


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_half_sent_request_is_answered(run):
    """At shutdown idle connections close, a request whose body is still coming gets its verdict as the last word."""

    async def go():
        async with port() as served, served.talk() as idle, served.talk() as talk:
            assert (await (await idle.send(LIVE)).answer()).status == 200
            request = post()
            await talk.send(request[:-10])
            await served.until(lambda: served.metrics.in_flight)
            stopping = asyncio.create_task(served.listener.stop())
            assert await idle.ended()
            assert not stopping.done()
            answer = await (await talk.send(request[-10:])).answer()
            assert await talk.ended()
            await stopping
            return answer.status, answer.headers["connection"]

    assert run(go()) == (200, "close")


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_shutdown_does_not_wait_for_ever(run):
    """A request that never ends is cut off when the grace is over."""

    async def go():
        async with port(grace=0.1) as served, served.talk() as talk:
            await talk.send(post()[:-10])
            await served.until(lambda: served.metrics.in_flight)
            await served.listener.stop()
            return await talk.ended()

    assert run(go())
