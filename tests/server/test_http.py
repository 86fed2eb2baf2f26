"""The HTTP layer by itself: every byte of a request where a client may cut it, and every bound on what it may send."""

import asyncio
import itertools
import json
import logging
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import monotonic

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from tests.server.serving import ScriptedEngine, review, serve
from webhook.admission.gate import Check
from webhook.admission.verdict import NeedsAuthorization, Verdict
from webhook.server.app import make_app
from webhook.server.body import DEEPEST, SHORT
from webhook.server.health import Health
from webhook.server.http import TURN, Connection, Port
from webhook.server.limits import Limits
from webhook.server.listener import Listener
from webhook.server.metrics import ServerMetrics
from webhook.tls.folder import Folder, ensure
from webhook.tls.serving import ServingCertificate

BODY = json.dumps(review()).encode()
END = b"\r\n\r\n"


def post(body=BODY, *headers, path="/validate", version="1.1"):
    """A POST as it goes over the wire."""
    lines = [f"POST {path} HTTP/{version}", "Host: localhost", "Content-Type: application/json", *headers]
    if not any(header.startswith(("Transfer", "Content-Length")) for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + END + body


def chunked(body, size, *, trailer=b""):
    """A body in chunks of a size."""
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


class Wire:
    """A transport that keeps what is written."""

    def __init__(self):
        self.sent = b""
        self.closed = self.aborted = self.held = False

    def write(self, data):
        assert not self.closed
        self.sent += data

    def close(self):
        self.closed = True

    def abort(self):
        self.closed = self.aborted = True

    def is_closing(self):
        return self.closed

    def pause_reading(self):
        self.held = True

    def resume_reading(self):
        self.held = False


class Talk:
    """A connection without a socket: feed it, look at what it answers."""

    def __init__(self, engine=None, port=None, **limits):
        """Open a connection; `port`: that of another one, to share it."""
        self.metrics = ServerMetrics()
        app = make_app(
            engine or ScriptedEngine(),
            lambda document: document,
            health=Health(),
            metrics=self.metrics,
            registry=CollectorRegistry(),
            limits=Limits(**limits),
        )
        self.turns = []
        self.port = port or Port(app, app.refuse, app.limits, self.turns.append)
        self.wire = Wire()
        self.connection = Connection(self.port)
        self.connection.connection_made(self.wire)

    def feed(self, *pieces):
        for piece in pieces:
            self.connection.data_received(piece)
            self.run()
        return self

    def run(self):
        """Let the loop come round until nobody waits for a turn."""
        while self.turns:
            self.turn()
        return self

    def turn(self):
        """Let it come round once."""
        self.turns.pop(0)()

    def later(self, seconds):
        """Let time pass, and the listener look."""
        self.port.now += seconds
        self.connection.check()
        return self.run()

    @property
    def answers(self):
        return answers(self.wire.sent)

    @property
    def statuses(self):
        return [status for status, _, _ in self.answers]


def answers(data, *, headless=False):
    """Every answer in what was sent: status, headers, body."""
    found = []
    while data:
        head, _, data = data.partition(END)
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = 0 if headless else int(headers.get("content-length", 0))
        found.append((int(first.split()[1]), headers, data[:length]))
        data = data[length:]
    return found


def test_a_request_may_be_cut_at_every_byte():
    """Wherever a request is cut in two, or if it comes byte by byte, the answer is the same."""
    whole = Talk().feed(post()).wire.sent
    assert answers(whole)[0][0] == 200
    request = post()
    for cut in range(1, len(request)):
        assert Talk().feed(request[:cut], request[cut:]).wire.sent == whole, cut
    assert Talk().feed(*(bytes([byte]) for byte in request)).wire.sent == whole


def test_a_chunked_body_may_be_cut_at_every_byte():
    """So may a body in chunks, whatever their size, with trailers."""
    whole = Talk().feed(post()).wire.sent
    request = post(b"", "Transfer-Encoding: chunked") + chunked(BODY, 7, trailer=b"X-Sum: 1\r\n")
    for cut in range(1, len(request)):
        assert Talk().feed(request[:cut], request[cut:]).wire.sent == whole, cut
    for size in (1, 2, 100, 10_000):
        request = post(b"", "Transfer-Encoding: chunked") + chunked(BODY, size)
        assert Talk().feed(request).wire.sent == whole, size


def uids(talk):
    """Whom the answers are for."""
    return [json.loads(body)["response"]["uid"] for _, _, body in talk.answers]


def requests(*names):
    """A request for each uid, in a row."""
    return b"".join(post(json.dumps(review(uid=name)).encode()) for name in names)


def test_requests_in_a_row_are_answered_in_their_order():
    """Pipelined requests are answered one by one, each with its own uid, and nothing more is read meanwhile."""
    talk = Talk()
    names = [f"u-{i}" for i in range(40)]
    talk.connection.data_received(requests(*names))
    for at in range(len(names)):
        assert (uids(talk), talk.wire.held) == (names[:at], at > 0)
        talk.turn()
    assert (uids(talk), talk.wire.held, talk.turns) == (names, False, [])


def test_who_waits_for_a_turn_is_not_read_further():
    """What comes on behind a whole request, before that had its turn, is the last that is read until then."""
    talk = Talk()
    talk.connection.data_received(requests("a"))
    assert not talk.wire.held
    talk.connection.data_received(requests("b"))
    assert talk.wire.held
    talk.run()
    assert (uids(talk), talk.wire.held) == (["a", "b"], False)


def test_a_turn_is_shared_by_all_connections():
    """Each connection answers one request in a turn, whatever else it has sent, and the answers are sent together."""
    sent = []
    reviewed = ScriptedEngine(on_validate=lambda request: Verdict(bool(sent.append(request.uid)) or True))
    one = Talk(reviewed)
    two = Talk(port=one.port)
    one.connection.data_received(requests("a1", "a2", "a3"))
    two.connection.data_received(requests("b1"))
    assert (sent, one.wire.sent, two.wire.sent) == ([], b"", b"")
    one.turn()
    assert (sent, uids(one), uids(two)) == (["a1", "b1"], ["a1"], ["b1"])
    one.turn()
    assert uids(one) == ["a1", "a2"]
    assert uids(one.run()) == ["a1", "a2", "a3"]


def test_an_answer_does_not_wait_for_slow_ones():
    """Where a turn takes long it ends: what was answered is sent before the next review begins."""
    seen = []

    def slow(request):
        seen.append((request.uid, uids(one), uids(two)))
        until = monotonic() + 2 * TURN
        while monotonic() < until:
            pass
        return Verdict(True)

    one = Talk(ScriptedEngine(on_validate=slow))
    two = Talk(port=one.port)
    one.connection.data_received(requests("a"))
    two.connection.data_received(requests("b"))
    one.run()
    assert (seen, uids(two)) == ([("a", [], []), ("b", ["a"], [])], ["b"])


def test_a_client_that_says_no_more_gets_its_answers():
    """A client that closes its side behind its requests is answered before the connection ends."""
    talk = Talk()
    talk.connection.data_received(requests("a", "b"))
    talk.connection.eof_received()
    assert uids(talk) == ["a", "b"]
    assert uids(talk.run()) == ["a", "b"]


def test_what_goes_wrong_in_a_turn_stops_no_other_connection(caplog):
    """A bug of ours costs the connection that met it, and those behind it have their turn; so has one that is gone."""
    bad, gone, good = (one := Talk()), Talk(port=one.port), Talk(port=one.port)
    one.port.handler, handler = (lambda call: 1 / 0 if b'"bad"' in call.body else handler(call)), one.port.handler
    bad.connection.data_received(requests("bad"))
    gone.connection.data_received(requests("gone"))
    gone.wire.close()
    good.connection.data_received(requests("good", "better"))
    one.run()
    assert (bad.wire.aborted, uids(gone), uids(good)) == (True, [], ["good", "better"])
    assert "division by zero" in caplog.text


def test_requests_behind_one_that_waits_keep_their_place():
    """While a request waits for an authorization nothing more is read, and those behind it are answered after it."""

    async def go():
        release = asyncio.Event()

        class Held(ScriptedEngine):
            async def authorize(self, checks):
                await release.wait()

        verdicts = iter([NeedsAuthorization((Check(user="ann", verb="use"),)), Verdict(True), Verdict(True)])
        talk = Talk(Held(on_validate=lambda _: next(verdicts)))
        talk.feed(post() + post(json.dumps(review(uid="u-2")).encode()))
        await asyncio.sleep(0)
        assert (talk.answers, talk.wire.held, talk.metrics.in_flight) == ([], True, 1)
        talk.later(1000)  # waiting is bounded by the request's own time, not by the connection's
        release.set()
        for _ in range(10):
            await asyncio.sleep(0)
            talk.run()
        assert not talk.wire.held
        return uids(talk)

    assert asyncio.run(go()) == ["u-1", "u-2"]


def test_an_answer_for_a_client_that_left_is_thrown_away():
    """A client that closes while its request waits is no error."""

    async def go():
        class Slow(ScriptedEngine):
            async def authorize(self, checks):
                await asyncio.sleep(0)

        verdicts = iter([NeedsAuthorization((Check(user="ann", verb="use"),)), Verdict(True)])
        talk = Talk(Slow(on_validate=lambda _: next(verdicts)))
        talk.feed(post())
        talk.connection.connection_lost(None)
        for _ in range(10):
            await asyncio.sleep(0)
        return talk.wire.sent, talk.port.quiet.is_set(), talk.metrics.in_flight

    assert asyncio.run(go()) == (b"", True, 0)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"FETCH / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nHost : x\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /validate HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n",
        b"POST /validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n-1\r\n",
        b"POST /validate HTTP/1.1\r\nX: a\x00b\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_closed(garbage):
    """Bad syntax, a second length, a length beside chunks: one 400 as a Status object, and the connection ends."""
    talk = Talk().feed(garbage)
    ((status, headers, body),) = talk.answers
    assert (status, headers["connection"], json.loads(body)["kind"]) == (400, "close", "Status")
    assert talk.metrics.failures["bad_request"] == 1
    talk.feed(post())  # what comes behind it is not read
    assert talk.statuses == [400]
    assert talk.later(1).wire.closed


def test_a_bug_of_ours_while_reading_is_a_500_that_is_logged(caplog, monkeypatch):
    """It is not blamed on the client, and the connection ends."""
    monkeypatch.setattr(Connection, "on_header", lambda *_: 1 / 0)
    talk = Talk().feed(post())
    assert (talk.statuses, talk.metrics.failures["internal"]) == ([500], 1)
    assert "division by zero" in caplog.text


def test_a_good_request_before_a_bad_one_is_answered():
    """What was whole before the connection broke gets its verdict."""
    assert Talk().feed(post() + b"\x00\x01").statuses == [200, 400]


def test_headers_are_bounded():
    """Headers too large are a 431, whether there are many, one is long, the target is, or one never ends."""
    many = post(BODY, *(f"X-{i}: {'v' * 50}" for i in range(1000)))
    assert Talk().feed(many).statuses == [431]
    assert Talk().feed(post(BODY, f"X: {'v' * 40_000}")).statuses == [431]
    assert Talk().feed(post(path="/" + "a" * 40_000)).statuses == [431]
    without_end = Talk().feed(b"POST /", *([b"a" * 1000] * 40))
    assert without_end.statuses == [431]
    endless = Talk().feed(b"POST /validate HTTP/1.1\r\nX: ", *([b"v" * 1000] * 40))
    assert endless.statuses == [431]
    trailing = Talk().feed(post(b"", "Transfer-Encoding: chunked"), b"0\r\nX: ", *([b"v" * 1000] * 40))
    assert trailing.statuses == [431]
    extended = Talk().feed(post(b"", "Transfer-Encoding: chunked"), b"1;", *([b"v" * 1000] * 40))
    assert extended.statuses == [431]
    blank = Talk().feed(*([b"\r\n" * 1000] * 40))
    assert blank.statuses == [431]


def test_bodies_are_bounded():
    """A body over the limit is a 413: at once where its length is announced, else as soon as it is passed."""
    announced = Talk(body=1000).feed(post(b"", "Content-Length: 1001"))
    assert announced.statuses == [413]
    assert announced.metrics.failures["too_large"] == 1
    grown = Talk(body=1000).feed(post(b"", "Transfer-Encoding: chunked") + chunked(b" " * 2000, 100))
    assert grown.statuses == [413]


def test_a_slow_client_is_sent_away():
    """Headers, a body, and silence each have their time; what is unread too long is cut off."""
    limits = {"head_seconds": 2.0, "body_seconds": 3.0, "idle_seconds": 9.0, "stuck_seconds": 4.0}
    request = post()
    loris = Talk(**limits).feed(request[:40])
    assert loris.later(1.9).feed(request[40:60]).later(0.2).statuses == [408]
    slow = Talk(**limits).feed(request[:-1])
    assert slow.later(2.9).statuses == []
    assert slow.later(0.2).statuses == [408]
    assert slow.metrics.failures["timeout"] == 1
    assert not slow.wire.closed
    assert slow.later(1).wire.closed
    idle = Talk(**limits).feed(request).later(8.9)
    assert not idle.wire.closed
    assert idle.later(0.2).wire.closed
    stuck = Talk(**limits)
    stuck.connection.pause_writing()
    stuck.feed(request)
    assert (stuck.statuses, stuck.wire.held) == ([], True)
    assert stuck.later(4.1).wire.aborted


def test_a_client_that_reads_again_gets_its_answers():
    """Answers wait until the client has read those before."""
    talk = Talk()
    talk.connection.pause_writing()
    talk.feed(post())
    assert talk.statuses == []
    talk.connection.resume_writing()
    assert (talk.run().statuses, talk.wire.held) == ([200], False)


def test_a_body_is_asked_for_where_that_is_awaited():
    """`Expect: 100-continue` gets its 100 before the body, unless the body is refused; other expectations a 417."""
    request = post(BODY, "Expect: 100-continue")
    cut = request.index(END) + 4
    talk = Talk().feed(request[:cut])
    assert talk.wire.sent == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert talk.feed(request[cut:]).statuses == [100, 200]
    assert Talk(body=10).feed(request[:cut]).statuses == [413]
    assert Talk().feed(request).statuses == [200]
    assert Talk().feed(post() + request[:cut], request[cut:]).statuses == [200, 100, 200]
    assert Talk().feed(post(BODY, "Expect: a-miracle")).statuses == [417]


def test_a_connection_is_kept_as_the_client_asks():
    """HTTP/1.1 stays open but with `Connection: close`; HTTP/1.0 is answered and closed."""
    kept = Talk().feed(post(), post())
    assert (kept.statuses, kept.wire.closed) == ([200, 200], False)
    assert all("connection" not in headers for _, headers, _ in kept.answers)
    for request in (post(BODY, "Connection: close"), post(version="1.0"), post(BODY, "Connection: close") + post()):
        talk = Talk().feed(request)
        assert (talk.statuses, talk.wire.closed) == ([200], True)
        assert talk.answers[0][1]["connection"] == "close"


def test_an_upgrade_is_not_agreed_to():
    """A request that offers h2c or a tunnel is answered as HTTP/1.1, and is the last of its connection."""
    headers = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    get = "\r\n".join(["GET /livez HTTP/1.1", "Host: x", *headers]).encode() + END
    talk = Talk().feed(get + b"PRI * HTTP/2.0")
    assert (talk.statuses, talk.wire.closed) == ([200], True)
    assert Talk().feed(b"POST /validate HTTP/2.0\r\n\r\n").statuses == [505]
    assert Talk().feed(b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n").statuses == [404]


def test_head_has_no_body():
    """HEAD is answered as GET, without the body, so that the next answer is not misread."""
    talk = Talk().feed(b"HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    ((status, headers, rest),) = answers(talk.wire.sent, headless=True)
    assert (status, headers["content-length"], rest) == (200, "3", b"")


def test_a_wrong_method_names_the_right_one():
    """405 says which methods there are (RFC 9110, 15.5.6)."""
    talk = Talk().feed(b"GET /mutate HTTP/1.1\r\nHost: x\r\n\r\n", b"DELETE /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [(status, headers["allow"]) for status, headers, _ in talk.answers] == [(405, "POST"), (405, "GET, HEAD")]


@pytest.mark.parametrize("blank", [b"", b" " * SHORT], ids=["short", "long"])
@pytest.mark.parametrize(("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]"), (b'{"}}]]":', b"}")])
def test_bodies_as_deep_as_we_can_write_are_read(opening, closing, blank):
    """A review nested 254 levels is answered, one of 255 is a 400: what is read can always be handed on."""

    def nested(levels):
        inner = levels - 1
        return BODY[:-1] + b',"x":' + blank + opening * inner + b"1" + closing * inner + b"}"

    assert Talk().feed(post(nested(DEEPEST))).statuses == [200]
    assert Talk().feed(post(nested(DEEPEST + 1))).statuses == [400]


@asynccontextmanager
async def connected(served, trust):
    """A raw TLS connection to a served application."""
    port = int(served.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
    try:
        yield reader, writer
    finally:
        writer.close()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_client_may_close_its_side_behind_a_request(run):
    """On the plain port a probe that says it has no more to say is answered all the same."""

    async def go():
        talk = Talk()
        listener = Listener(talk.port.handler, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", await listener.start())
        writer.write(post() * 3)
        writer.write_eof()
        sent = await reader.read()
        writer.close()
        await listener.stop()
        return [status for status, _, _ in answers(sent)]

    assert run(go()) == [200, 200, 200]


async def read_answer(reader):
    head = await reader.readuntil(END)
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head, await reader.readexactly(length)


def test_h2_is_not_offered(tmp_path):
    """A client that would like HTTP/2 is not told that it could have it: TLS names no protocol."""

    async def go():
        async with serve(tmp_path) as served:
            trust = ssl.create_default_context(cafile=str(Folder(tmp_path).bundle))
            trust.set_alpn_protocols(["h2", "http/1.1"])
            async with connected(served, trust) as (reader, writer):
                writer.write(post())
                head, _ = await read_answer(reader)
                return writer.get_extra_info("ssl_object").selected_alpn_protocol(), head

    protocol, head = asyncio.run(go())
    assert protocol != "h2"
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")


def test_shutdown_lets_a_half_sent_request_finish(tmp_path):
    """At shutdown idle connections close, a request whose body is still coming gets its verdict, and the last word."""

    async def go():
        async with serve(tmp_path) as served:
            trust = ssl.create_default_context(cafile=str(Folder(tmp_path).bundle))
            async with connected(served, trust) as (idle, _), connected(served, trust) as (reader, writer):
                request = post()
                writer.write(request[:-10])
                await asyncio.sleep(0.05)
                stopping = asyncio.create_task(served.listener.stop())
                assert await idle.read() == b""
                assert not stopping.done()
                writer.write(request[-10:])
                answer = await read_answer(reader)
                assert await reader.read() == b""
                await stopping
                return answer

    head, body = asyncio.run(go())
    assert b"Connection: close\r\n" in head
    assert json.loads(body)["response"]["allowed"] is True


def test_shutdown_does_not_wait_for_ever(tmp_path):
    """A request that never ends is cut off when the grace is over."""

    async def go():
        async with serve(tmp_path, grace=0.2) as served:
            trust = ssl.create_default_context(cafile=str(Folder(tmp_path).bundle))
            async with connected(served, trust) as (reader, writer):
                writer.write(post()[:-10])
                await asyncio.sleep(0.05)
                await served.listener.stop()
                try:
                    return await reader.read()
                except ConnectionError:
                    return b""

    assert asyncio.run(go()) == b""


def test_a_new_certificate_is_served_to_new_connections(tmp_path):
    """After a renewal the next connection sees the new certificate, while an open one goes on."""

    async def go():
        folder = Folder(tmp_path)
        ensure(folder, ("localhost", "127.0.0.1"), datetime.now(UTC))
        certificate = ServingCertificate(folder)
        metrics, registry = ServerMetrics(), CollectorRegistry()
        app = make_app(ScriptedEngine(), lambda d: d, health=Health(), metrics=metrics, registry=registry)
        listener = Listener(app, "127.0.0.1", 0, certificate.context)
        port = await listener.start()
        trust = ssl.create_default_context(cafile=str(folder.bundle))

        async def open_one():
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
            return reader, writer, writer.get_extra_info("ssl_object").getpeercert(binary_form=True)

        reader, writer, before = await open_one()
        ensure(folder, ("localhost", "127.0.0.1"), datetime.now(UTC), force=True)
        assert certificate.reload()
        _, other, after = await open_one()
        writer.write(post())
        head, _ = await read_answer(reader)
        writer.close()
        other.close()
        await listener.stop()
        return before != after, head

    changed, head = asyncio.run(go())
    assert changed
    assert head.startswith(b"HTTP/1.1 200")


def test_nothing_is_logged_of_bad_requests(caplog):
    """A stranger cannot fill the log."""
    with caplog.at_level(logging.DEBUG):
        Talk().feed(b"\x00")
        Talk().feed(post(b"{"))
    assert caplog.text == ""


PARTS = st.sampled_from(
    [
        post(),
        post(b"{"),
        post(BODY, "Expect: 100-continue"),
        post(BODY, "Connection: close"),
        post(version="1.0"),
        post(b"", "Transfer-Encoding: chunked") + chunked(BODY, 50),
        b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\r\n",
    ]
)


def final(talk):
    """The answers without those that only ask for a body."""
    return [answer for answer in talk.answers if answer[0] != 100]


@st.composite
def streams(draw):
    """A few requests in a row, some bytes of them changed, left out or put in."""
    stream = bytearray(b"".join(draw(st.lists(PARTS, min_size=1, max_size=4))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(stream) - 1)))
        stream[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3) | st.sampled_from([b"\r\n", b":", b" "]))
    return bytes(stream)


@given(streams(), st.lists(st.integers(0, 4000), max_size=5))
@settings(max_examples=300, deadline=None, database=None)
def test_where_a_stream_is_cut_makes_no_difference(stream, cuts):
    """Whatever comes, in whatever pieces, nothing is raised and the same answers are given; a 100 may be needless."""
    whole = Talk().feed(stream)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = Talk().feed(*(stream[a:b] for a, b in itertools.pairwise(places) if a < b))
    assert final(pieces) == final(whole)
    assert all(status in (100, 200) or 400 <= status < 500 or status == 505 for status in whole.statuses)
    closing = ["connection" in headers for _, headers, _ in whole.answers]
    assert not any(closing[:-1])


STEPS = st.lists(
    st.tuples(st.sampled_from(["feed", "feed", "turn", "stop", "go"]), st.integers(0, 2), st.integers(1, 1500)),
    max_size=30,
)


@given(st.lists(streams(), min_size=3, max_size=3), STEPS)
@settings(max_examples=200, deadline=None, database=None)
def test_who_else_is_connected_makes_no_difference(sent, steps):
    """Whatever comes on three connections, in whatever turns, each gets the answers it would get alone, in order."""
    one = Talk()
    talks, left = [one, Talk(port=one.port), Talk(port=one.port)], list(sent)
    for step, at, size in steps:
        talk = talks[at]
        if step == "feed":
            talk.connection.data_received(left[at][:size])
            left[at] = left[at][size:]
        elif step == "stop":
            talk.connection.pause_writing()
        elif step == "go":
            talk.connection.resume_writing()
        elif one.turns:
            one.turn()
    for talk, rest in zip(talks, left, strict=True):
        talk.connection.resume_writing()
        talk.connection.data_received(rest)
    one.run()
    assert [final(talk) for talk in talks] == [final(Talk().feed(stream)) for stream in sent]
    assert not any(talk.wire.held for talk in talks if not talk.wire.closed)
