"""Every bound on what a client may send, hold and wait for; most of them by far smaller than those that are served."""

import asyncio
import json

import pytest
import uvloop

from tests.server.serving import ScriptedEngine, review
from tests.server.wire import BODY, LIVE, READY, chunked, port, post
from tests.shared import ROOT
from webhook.admission.gate import Check
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.documents import read
from webhook.server.body import DEEPEST, MAX_LISTS_AND_MAPS, read_json
from webhook.server.limits import MIB, PAGE, STATE, VISIBILITY, WEBHOOK
from webhook.server.responses import StatusError

NEEDS = NeedsFacts((Check(user="ann", verb="use"),))


class Held(ScriptedEngine):
    """Verdicts come when `release` is set."""

    def __init__(self):
        self.release = asyncio.Event()
        super().__init__(on_validate=lambda _: Verdict(True) if self.release.is_set() else NEEDS)

    async def ask(self, questions):
        await self.release.wait()


def sized(size):
    """A review of so many bytes."""
    body = json.dumps(review(padding="")).encode()
    return body.replace(b'"padding": ""', b'"padding": "%b"' % (b"x" * (size - len(body))))


def first(*pieces, **limits):
    """The first answer, and why the server counts it as failed."""

    async def go():
        async with port(**limits) as served:
            return await served.ask(*pieces), dict(served.metrics.failures)

    return uvloop.run(go())


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"],
        [post(BODY, f"X: {'v' * 10_000}")],
        [post(BODY, *(f"X-{i}: v" for i in range(100)))],
        [b"POST /validate HTTP/1.1\r\nHost: x\r\nX: " + b"v" * 10_000],
        [b"POST /" + b"a" * 10_000],
    ],
    ids=["target", "header", "number of headers", "header without end", "target without end"],
)
def test_heads_are_bounded(pieces):
    """A head too large is refused, whether it is whole or not."""
    answer, failures = first(*pieces)
    assert (answer.status, failures) == (400, {"bad_request": 1})


@pytest.mark.parametrize(
    ("request_", "limits", "status", "failure"),
    [
        (post(b"", "Content-Length: 1001"), {"body": 1000}, 413, "too_large"),
        (post(b"", "Transfer-Encoding: chunked") + chunked(b" " * 2000, 100), {"body": 1000}, 413, "too_large"),
        (post(b"", "Content-Length: 1001"), {"small": 100, "large_bodies": 1000}, 503, "busy"),
        (post(b"", "Transfer-Encoding: chunked"), {"small": 100, "large_bodies": 1000}, 503, "busy"),
        (post(), {"reviews": 0}, 503, "busy"),
        (post()[:-1], {"body_seconds": 0.05}, 408, "timeout"),
    ],
    ids=["announced", "chunked", "together", "together, of no known length", "reviews", "slow"],
)
def test_bodies_are_bounded(request_, limits, status, failure):
    """What is too large, too much or too slow is refused; before it is read, where that is known; and asked again."""
    answer, failures = first(request_, **limits)
    assert (answer.status, failures) == (status, {failure: 1})
    assert answer.headers.get("retry-after") == ("1" if status == 503 else None)


def test_large_bodies_share_a_bound():
    """Bodies that are held count until their answers are sent; small ones, and health, are answered meanwhile."""

    async def go():
        engine = Held()
        async with port(engine, small=5000, large_bodies=30_000) as served, served.talk() as one, served.talk() as two:
            for talk in (one, two):
                await talk.send(post(sized(14_000)))
            await served.until(lambda: served.metrics.in_flight == 2)
            refused = await served.ask(post(sized(6000)))
            alive = (await served.ask(LIVE)).status, (await served.ask(READY)).status
            async with served.talk() as small:
                await small.send(post())
                await served.until(lambda: served.metrics.in_flight == 3)
                engine.release.set()
                answers = [(await talk.answer()).status for talk in (one, two, small)]
            return refused, alive, answers, (await served.ask(post(sized(6000)))).status

    refused, alive, answers, again = uvloop.run(go())
    assert (refused.status, refused.message) == (503, "too many large requests at once")
    assert (alive, answers, again) == ((200, 200), [200, 200, 200], 200)


def test_health_is_answered_when_every_review_is_taken():
    """More reviews than there are places are asked to come again; `/livez` and `/readyz` need no place."""

    async def go():
        engine = Held()
        async with port(engine, reviews=2) as served, served.talk() as one, served.talk() as two:
            for talk in (one, two):
                await talk.send(post())
            await served.until(lambda: served.metrics.in_flight == 2)
            refused = await served.ask(post())
            alive = (await served.ask(LIVE)).status, (await served.ask(READY)).status
            engine.release.set()
            answers = [(await talk.answer()).status for talk in (one, two)]
            return (refused.status, refused.headers["retry-after"]), alive, answers, (await served.ask(post())).status

    assert uvloop.run(go()) == ((503, "1"), (200, 200), [200, 200], 200)


def test_connections_are_bounded():
    """One connection too many is closed at once; when another ends there is a place again."""

    async def go():
        async with port(connections=2) as served:
            async with served.talk() as one, served.talk() as two:
                for talk in (one, two):
                    assert (await (await talk.send(LIVE)).answer()).status == 200
                assert await served.ask(LIVE) is None
                assert (await (await one.send(LIVE)).answer()).status == 200
            await served.until(lambda: not served.listener.port.connections)
            return (await served.ask(LIVE)).status

    assert uvloop.run(go()) == 200


@pytest.mark.parametrize("limits", [{"unread": 9000}, {"all_unread": 9000}])
def test_what_is_sent_ahead_is_bounded(limits):
    """A client that goes on sending requests while the first one waits is cut off."""

    async def go():
        engine = Held()
        async with port(engine, **limits) as served, served.talk() as talk:
            await talk.send(post())
            await served.until(lambda: served.metrics.in_flight)
            await talk.send(*([post()] * 1000))
            ended = await talk.ended()
            engine.release.set()
            await served.until(lambda: not served.metrics.in_flight)
            return ended, (await served.ask(post())).status

    assert uvloop.run(go()) == (True, 200)


@pytest.mark.parametrize(("before", "begun"), [(0, b""), (0, post()[:40]), (1, post()[:40])])
def test_a_head_has_its_time(before, begun):
    """A client that connects and says nothing, or stops within a head, is cut off; also behind a good request."""

    async def go():
        async with port(head_seconds=1.0) as served, served.talk() as talk:
            for _ in range(before):
                assert (await (await talk.send(post())).answer()).status == 200
            return await (await talk.send(begun)).ended()

    assert uvloop.run(go())


def test_silence_has_its_time():
    """A connection on which nothing comes is closed."""

    async def go():
        async with port(idle_seconds=1.0) as served, served.talk() as talk:
            return [answer.status for answer in await (await talk.send(post())).answers()]

    assert uvloop.run(go()) == [200]


def test_an_answer_must_be_read():
    """A client that does not read what it asked for is cut off, and what was held for it is given back."""

    async def go():
        echo = Verdict(False, code=403, message="x" * 8_000_000)
        async with (
            port(ScriptedEngine(on_validate=lambda _: echo), stuck_seconds=0.05) as served,
            served.talk() as talk,
        ):
            talk.writer.transport.pause_reading()
            await talk.send(post())
            await served.until(lambda: served.metrics.timings["validate"].total > 0)
            shared = served.listener.port
            await served.until(lambda: not shared.connections)
            return shared.unread, shared.large_bodies

    assert uvloop.run(go()) == (0, 0)


@pytest.mark.parametrize("blank", [b"", b" " * 10_000], ids=["short", "long"])
@pytest.mark.parametrize(("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]"), (b'{"}}]]":', b"}")])
def test_bodies_as_deep_as_we_can_write_are_read(opening, closing, blank):
    """A body nested 254 levels is read, one of 255 is a 400: what is read can always be handed on."""

    def nested(levels):
        return blank + opening * levels + b"1" + closing * levels

    read_json(nested(DEEPEST))
    with pytest.raises(StatusError, match="254 levels"):
        read_json(nested(DEEPEST + 1))


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * MAX_LISTS_AND_MAPS + b"[]]",
        b'{"kind":[' + b"{}," * MAX_LISTS_AND_MAPS + b"{}]}",
        b"[" * 8_000_000,
    ],
    ids=["lists", "maps", "depth"],
)
def test_bodies_of_many_parts_are_not_parsed(body, monkeypatch):
    """What would take thirty times its bytes and a second to parse is refused by a count of its brackets."""
    monkeypatch.setattr("webhook.server.body.orjson.loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(StatusError, match="lists and maps") as refused:
        read_json(body)
    assert refused.value.status == 413


PORTS = (WEBHOOK, STATE, VISIBILITY, PAGE)


def test_the_ports_together_stay_far_below_the_memory_limit():
    """What clients of all ports can make the process hold before a handler looks at it is a quarter of its limit."""
    (values,) = read((ROOT / "charts" / "sluice" / "values.yaml").read_text())
    limit = int(values.value["resources"]["limits"]["memory"].removesuffix("Mi")) * MIB
    assert sum(port.all_unread + port.large_bodies for port in PORTS) <= limit / 4
    told = (ROOT / "docs" / "server.md").read_text()
    named = zip(("webhook port", "state", "visibility", "page"), PORTS, strict=True)
    assert [name for name, port in named if f"{name} {port.connections:,}" not in told] == []
