"""HTTP over a socket: what is answered, in which order, and when the connection ends. Its syntax is aiohttp's."""

import asyncio
import itertools
import json
import logging
import ssl
from datetime import UTC, datetime

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.serving import ScriptedEngine, review, serve
from tests.server.wire import BODY, END, LIVE, Talk, chunked, port, post
from webhook.admission.gate import Check
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.server.listener import Listener
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure
from webhook.tls.serving_certificate import ServingCertificate


def answered(*pieces, count=1, **options):
    """Send pieces over one connection; give that many answers, and whether the connection ended behind them."""

    async def go():
        async with port(**options) as served, served.talk() as talk:
            await talk.send(*pieces)
            found = [await talk.answer() for _ in range(count)]
            closed = found[-1] is None or found[-1].headers.get("connection") == "close"
            return found, await talk.ended() if closed else False

    return uvloop.run(go())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_requests_in_a_row_are_answered_in_their_order(run):
    """Requests that are sent without waiting are answered one by one, each with its own uid."""
    names = [f"u-{i}" for i in range(40)]

    async def go():
        async with port() as served, served.talk() as talk:
            await talk.send(b"".join(post(json.dumps(review(uid=name)).encode()) for name in names))
            return [(await talk.answer()).uid for _ in names]

    assert run(go()) == names


def test_a_request_that_waits_holds_up_its_own_connection_only():
    """While one connection waits for an authorization, another gets its verdict; then the first one, in order."""

    async def go():
        asked, release = asyncio.Event(), asyncio.Event()

        class Held(ScriptedEngine):
            async def ask(self, questions):
                asked.set()
                await release.wait()

        needs = NeedsFacts((Check(user="ann", verb="use"),))
        engine = Held(on_validate=lambda r: needs if r.uid == "slow" and not release.is_set() else Verdict(True))
        async with port(engine) as served, served.talk() as slow, served.talk() as quick:
            await slow.send(*(post(json.dumps(review(uid=uid)).encode()) for uid in ("slow", "behind")))
            await asked.wait()
            first = (await (await quick.send(post())).answer()).uid
            assert served.metrics.in_flight == 1
            release.set()
            return first, (await slow.answer()).uid, (await slow.answer()).uid

    assert uvloop.run(go()) == ("u-1", "slow", "behind")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_closed(garbage, caplog):
    """One 400 as a Status object, the connection ends, and a stranger cannot fill the log with it."""

    async def go():
        async with port() as served, served.talk() as talk:
            with caplog.at_level(logging.INFO):
                answers = await (await talk.send(garbage)).answers()
            return answers, served.metrics.failures["bad_request"]

    (answer,), counted = uvloop.run(go())
    assert (answer.status, counted) == (400, 1)
    assert "HTTP/1.1" in answer.message
    assert caplog.text == ""


def test_bad_bodies_are_not_logged(caplog):
    """Nor with bodies that are no reviews, or end too early."""

    async def go():
        async with port() as served:
            with caplog.at_level(logging.INFO):
                assert (await served.ask(post(b"{"))).status == 400
                async with served.talk() as talk:
                    await talk.send(post()[:-5])
                    await served.until(lambda: served.metrics.in_flight)
                await served.until(lambda: not served.metrics.in_flight)
            return dict(served.metrics.failures)

    assert uvloop.run(go()) == {"bad_request": 1, "disconnected": 1}
    assert caplog.text == ""


def test_bytes_that_are_no_text_can_be_told():
    """What is repeated of a header in a refusal need not be UTF-8."""
    (answer,), _ = answered(post().replace(b"application/json", b"text/\xff"))
    assert (answer.status, answer.message) == (415, 'the content type is "text/\\udcff", not "application/json"')


def test_chunks_that_are_none_are_refused():
    """A body whose chunks cannot be read has not come in time, and the connection ends."""
    request = post(b"", "Transfer-Encoding: chunked")
    (answer,), ended = answered(request, b"zz\r\n", body_seconds=0.05)
    assert (answer.status, ended) == (408, True)


def test_a_body_is_asked_for_where_that_is_awaited():
    """`Expect: 100-continue` gets its 100 before the body, unless the body is refused; other expectations a 417."""
    request = post(BODY, "Expect: 100-continue")
    cut = request.index(END) + 4

    async def go():
        async with port() as served, served.talk() as talk:
            asked = await (await talk.send(request[:cut])).answer()
            return asked.status, (await (await talk.send(request[cut:])).answer()).status

    assert uvloop.run(go()) == (100, 200)
    assert answered(request)[0][0].status == 200
    assert answered(request[:cut], body=10)[0][0].status == 413
    assert answered(post(BODY, "Expect: a-miracle")[:cut])[0][0].status == 417


def test_a_connection_is_kept_as_the_client_asks():
    """HTTP/1.1 stays open but with `Connection: close`; HTTP/1.0 is answered and closed."""
    (one, two), ended = answered(post(), post(), count=2)
    assert ([one.status, two.status], ended) == ([200, 200], False)
    (answer,), ended = answered(post(BODY, "Connection: close"))
    assert (answer.status, ended) == (200, True)
    (answer, end), _ = answered(post(version="1.0"), count=2)
    assert (answer.status, end) == (200, None)


def test_an_upgrade_is_not_agreed_to():
    """A request that offers h2c or a tunnel is answered as HTTP/1.1."""
    headers = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    assert answered(post(BODY, *headers))[0][0].status == 200
    assert answered(b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n")[0][0].status == 404


def test_head_has_no_body():
    """HEAD is answered as GET, without the body, so that the next answer is not misread."""

    async def go():
        async with port() as served, served.talk() as talk:
            await talk.send(b"HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n", LIVE)
            return await talk.answer(headless=True), await talk.answer()

    head, get = uvloop.run(go())
    assert (head.status, head.headers["content-length"], get.body) == (200, "3", b"ok\n")


def test_a_wrong_method_names_the_right_one():
    """405 says which methods there are (RFC 9110, 15.5.6)."""
    found, _ = answered(LIVE.replace(b"livez", b"mutate"), LIVE.replace(b"GET", b"DELETE"), count=2)
    assert [(answer.status, answer.headers["allow"]) for answer in found] == [(405, "POST"), (405, "GET, HEAD")]


def test_what_serves_is_not_told():
    """The Server header names no version of anything."""
    assert answered(LIVE)[0][0].headers["server"] == "Sluice"
    assert answered(post())[0][0].headers["server"] == "Sluice"
    assert answered(LIVE.replace(b"livez", b"metrics"))[0][0].headers["server"] == "Sluice"


def trusting(folder):
    return ssl.create_default_context(cafile=str(folder.bundle))


def test_h2_is_not_offered(tmp_path):
    """A client that would like HTTP/2 is not told that it could have it: TLS names no protocol."""

    async def go():
        async with serve(tmp_path) as served:
            trust = trusting(Folder(tmp_path))
            trust.set_alpn_protocols(["h2", "http/1.1"])
            number = int(served.url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", number, ssl=trust)
            talk = await Talk(reader, writer).send(post())
            protocol = writer.get_extra_info("ssl_object").selected_alpn_protocol()
            answer = await talk.answer()
            writer.close()
            return protocol, answer.status

    assert uvloop.run(go()) == (None, 200)


def test_a_new_certificate_is_served_to_new_connections(tmp_path):
    """After a renewal the next connection sees the new certificate, while an open one goes on."""
    folder = Folder(tmp_path)
    ensure(folder, ("localhost", "127.0.0.1"), datetime.now(UTC))
    certificate = ServingCertificate(folder)

    async def go():
        async with port() as plain:
            listener = Listener(plain.listener._app, "--listen", "127.0.0.1:0", certificate.context)
            number = await listener.start()

            async def connect():
                reader, writer = await asyncio.open_connection("127.0.0.1", number, ssl=trusting(folder))
                return Talk(reader, writer), writer.get_extra_info("ssl_object").getpeercert(binary_form=True)

            talk, before = await connect()
            ensure(folder, ("localhost", "127.0.0.1"), datetime.now(UTC), force=True)
            assert certificate.reload()
            other, after = await connect()
            answer = await (await talk.send(post())).answer()
            talk.writer.close()
            other.writer.close()
            await listener.stop()
            return before != after, answer.status

    assert uvloop.run(go()) == (True, 200)


PARTS = st.sampled_from(
    [
        post(),
        post(b"{"),
        post(BODY, "Expect: 100-continue"),
        post(BODY, "Connection: close"),
        post(version="1.0"),
        post(b"", "Transfer-Encoding: chunked") + chunked(BODY, 50),
        LIVE,
        b"\r\n",
    ]
)


@st.composite
def streams(draw):
    """A few requests in a row, some bytes of them changed, left out or put in."""
    stream = bytearray(b"".join(draw(st.lists(PARTS, min_size=1, max_size=4))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(stream) - 1)))
        stream[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3) | st.sampled_from([b"\r\n", b":", b" "]))
    return bytes(stream)


@given(st.lists(st.tuples(streams(), st.lists(st.integers(0, 2000), max_size=4)), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, database=None)
def test_any_stream_is_answered_or_ended(sent):
    """Whatever comes on a few connections, in whatever pieces, each ends behind answers that are none of our bugs."""

    async def one(served, stream, cuts):
        async with served.talk() as talk:
            places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
            await talk.send(*(stream[a:b] for a, b in itertools.pairwise(places)))
            return [answer.status for answer in await talk.answers()]

    async def go():
        async with port(head_seconds=0.2, body_seconds=0.2, idle_seconds=0.2) as served:
            found = await asyncio.gather(*(one(served, *what) for what in sent))
            return found, served.metrics.failures["internal"]

    found, bugs = uvloop.run(go())
    assert bugs == 0
    assert all(status in (100, 200) or 400 <= status < 500 for statuses in found for status in statuses)
