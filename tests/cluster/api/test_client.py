"""The HTTP client lets go of its connections: nothing is left open when its event loop ends."""

import asyncio
import gc
import json
import socket
import ssl
import threading
import warnings
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from time import monotonic, sleep

import pytest
from prometheus_client import CollectorRegistry

from tests.bench.year.virtual_time import VirtualLoop
from tests.patience import PATIENCE, until
from webhook import documents
from webhook.cluster.api.client import REPORTS, Client, Pace, Write, kubernetes_client, proxy_for
from webhook.cluster.api.live_store import LiveStore
from webhook.cluster.api.write_metrics import WriteMetrics
from webhook.kube.gvk import gvk_of
from webhook.store.errors import StoreError, Unavailable
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

EVENT = json.dumps({"type": "BOOKMARK", "object": {}}).encode() + b"\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
LIST = b'{"kind": "List", "items": []}'
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(LIST), LIST)


@contextmanager
def silent_server(folder, answers: tuple[bytes, ...]):
    """An HTTPS server that answers some requests, and then neither speaks nor closes, as one under load."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder.certificate, folder.key)
    over = threading.Event()

    def serve(listener):
        connection, _ = listener.accept()
        with connection, context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True) as secure:
            for answer in answers:
                secure.recv(65_536)
                secure.sendall(answer)
            over.wait(PATIENCE)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def left_open(tmp_path, work, *answers: bytes) -> list[str]:
    """What Python finds unclosed after `work(client)` has run to its end in a loop of its own.

    The client is patient: its timeout covers the TLS handshake, which takes as long as a busy machine needs.
    """
    folder = Folder(tmp_path / "certs")
    ensure(folder, ("127.0.0.1",), datetime.now(UTC))
    with silent_server(folder, answers) as url:
        cluster = {"server": url, "certificate-authority": str(folder.bundle)}
        context = {"cluster": "a", "user": "a"}
        config = {
            "clusters": [{"name": "a", "cluster": cluster}],
            "contexts": [{"name": "a", "context": context}],
            "users": [{"name": "a", "user": {"token": "t"}}],
            "current-context": "a",
        }
        (tmp_path / "config").write_text(documents.dump(config))

        async def go():
            client = await Client.connect(tmp_path / "config", None, Pace(timeout=PATIENCE), monotonic)
            try:
                await work(client)
            finally:
                await client.close()

        gc.collect()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            asyncio.run(go())
            gc.collect()
        return [str(w.message) for w in found if w.category is ResourceWarning]


def test_a_watch_that_is_left_leaves_nothing_open(tmp_path):
    """Whoever has seen enough of a watch need not wait for the server to close the connection, too."""

    async def work(client):
        async with client.stream("/watch", {}, PATIENCE) as lines:
            assert await anext(lines) == EVENT.rstrip()

    assert left_open(tmp_path, work, STREAM + CHUNK) == []


def test_a_watch_that_is_cancelled_leaves_nothing_open(tmp_path):
    """At the end of the process every watch is cancelled while it waits for the next event."""

    async def work(client):
        seen = asyncio.Event()

        async def follow():
            async with client.stream("/watch", {}, PATIENCE) as lines:
                async for _ in lines:
                    seen.set()

        task = asyncio.create_task(follow())
        await until(lambda: seen.is_set() or task.done(), "an event has come, or the watch has failed")
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert left_open(tmp_path, work, STREAM + CHUNK) == []


@pytest.mark.parametrize("answer", [b"", STREAM], ids=["no answer", "half an answer"])
def test_a_request_that_is_given_up_leaves_nothing_open(tmp_path, answer):
    """A request of which the answer does not come, or does not end, in time.

    The connection is that of a request before it: its handshake would count as a part of that time.
    """

    async def work(client):
        await client.read("/quick")
        with pytest.raises(Unavailable):
            await client.read("/slow", seconds=0.5)

    assert left_open(tmp_path, work, WHOLE, answer) == []


class Answered:
    """A response."""

    def __init__(self, status, **headers):
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}

    async def read(self):
        return json.dumps({"message": f"status {self.status}"}).encode()


@pytest.mark.parametrize("due", [0.06, 0.14], ids=["cancelled first", "its time up first"])
@pytest.mark.parametrize("answer", [b"", STREAM], ids=["no answer", "half an answer"])
def test_a_request_that_is_cancelled_as_its_time_is_up_ends_its_task(answer, due):
    """A process that stood still finds both due at once: the time of its requests, and the loss of its lease.

    A task that took its cancellation for the end of that time would go on, and who waits for its end would for ever.
    """

    async def silent(reader, writer):
        await reader.read(1)
        writer.write(answer)
        await reader.read()
        writer.close()

    async def go():
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        host = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        client = Client(kubernetes_client.Configuration(host=host), Pace(timeout=0.1), monotonic)
        going_on = []

        async def work():
            with suppress(Unavailable):
                await client.read("/nothing")
            going_on.append(1)

        task, loop = asyncio.create_task(work()), asyncio.get_running_loop()
        loop.call_later(0.05, sleep, 0.2)
        loop.call_later(due, task.cancel)
        await asyncio.wait({task})
        await client.close()
        server.close()
        await server.wait_closed()
        return task.cancelled(), going_on

    assert asyncio.run(go()) == (True, [])


@pytest.mark.parametrize(
    ("answers", "sent", "ends_with"),
    [
        ([Answered(429), Answered(429), Answered(200)], 3, "status 200"),
        ([Answered(429, Retry_After="0"), Answered(404)], 2, "status 404"),
        ([Answered(429, Retry_After="9"), Answered(200)], 1, "status 429"),
        ([Answered(503), Answered(200)], 1, "status 503"),
    ],
    ids=[
        "until it is done",
        "until another error",
        "not beyond the timeout",
        "what may have been done is not repeated",
    ],
)
def test_what_is_put_off_is_sent_again(answers, sent, ends_with, monkeypatch):
    """A 429 was not carried out, so even a write may be repeated; its pause is kept where the timeout allows it."""
    left = list(answers)

    async def send(self, *_):
        return left.pop(0)

    monkeypatch.setattr(Client, "_send", send)

    async def go():
        client = Client(kubernetes_client.Configuration(host="https://localhost"), Pace(timeout=4.0), monotonic)
        try:
            write = Write("create", "/api/v1/namespaces", "namespaces", {})
            return (await client.write(write))["message"]
        except StoreError as error:
            return str(error)
        finally:
            await client.close()

    assert asyncio.run(go()) == ends_with
    assert len(answers) - len(left) == sent


RESOURCES = [
    {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
    {"name": "leases", "kind": "Lease", "namespaced": True},
]


class Served(Answered):
    """What discovery says of any group; as good an answer to a write."""

    async def read(self):
        return json.dumps({"metadata": {}, "resources": RESOURCES}).encode()


def named(kind: str, version: str, name: str):
    """An object of a kind."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "n"}}


def test_a_lease_is_written_before_the_writes_that_wait_for_their_turn(monkeypatch):
    """A leader with many statuses to write would otherwise lose the lease to them."""
    sent = []

    async def send(self, method, path, *_):
        sent.append((method, path.rsplit("/", 1)[-1]))
        return Served(200)

    monkeypatch.setattr(Client, "_send", send)

    async def go():
        pace = Pace(per_second=0.001, burst=1)
        client = Client(kubernetes_client.Configuration(host="https://localhost"), pace, monotonic)
        store = LiveStore(client)
        await store.update(named("ConfigMap", "v1", "first"))
        waiting = asyncio.create_task(store.update(named("ConfigMap", "v1", "second")))
        try:
            for _ in range(3):
                async with asyncio.timeout(PATIENCE):
                    await store.update(named("Lease", "coordination.k8s.io/v1", "lease"))
            async with asyncio.timeout(PATIENCE):
                await store.create(named("Lease", "coordination.k8s.io/v1", "lease"))
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await client.close()

    asyncio.run(go())
    assert [row for row in sent if row[0] != "GET"] == [("PUT", "first"), *[("PUT", "lease")] * 3, ("POST", "leases")]


@pytest.mark.parametrize(
    ("writers", "counts"),
    [
        (["workloads/status", "events", "clusterqueues/status"], {"workloads/status": 300, "reports": 100}),
        (["workloads/status", "workloads/status", "events"], {"workloads/status": 300, "reports": 100}),
        (["events", "localqueues/status"], {"reports": 400}),
        (["workloads/status"], {"workloads/status": 400}),
    ],
)
def test_while_writes_wait_for_their_turn_one_of_four_is_a_report(monkeypatch, writers, counts):
    """Events and statuses of queues are reports; without other writes they have the whole of the rate."""
    sent: list[str] = []

    async def send(self, method, path, *_):
        sent.append(path)
        return Served(200)

    monkeypatch.setattr(Client, "_send", send)

    async def go():
        clock = asyncio.get_running_loop().time
        client = Client(kubernetes_client.Configuration(host="https://localhost"), Pace(per_second=4, burst=1), clock)

        async def writer(resource):
            while True:
                await client.write(Write("patch", resource, resource, {}))

        with suppress(TimeoutError):
            async with asyncio.timeout(100):
                await asyncio.gather(*map(writer, writers))
        await client.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(go())
    found = Counter("reports" if resource in REPORTS else resource for resource in sent)
    assert found == {what: pytest.approx(count, abs=3) for what, count in counts.items()}


@pytest.mark.parametrize(
    ("status", "result"),
    [(200, "ok"), (409, "conflict"), (404, "not_found"), (403, "refused"), (500, "unavailable")],
)
def test_every_write_is_counted_by_what_came_of_it(monkeypatch, status, result):
    """By resource, with its subresource, and verb; reads are not."""

    async def send(self, method, *_):
        return Served(200 if method == "GET" else status)

    monkeypatch.setattr(Client, "_send", send)

    async def go():
        client = Client(kubernetes_client.Configuration(host="https://localhost"), Pace(), monotonic)
        store = LiveStore(client)
        made = named("ConfigMap", "v1", "a")
        writes = (store.create(made), store.update(made, subresource="status"), store.delete(gvk_of(made), "a", "n"))
        for write in writes:
            with suppress(StoreError):
                await write
        await client.close()
        return client.writes

    counted = asyncio.run(go())
    rows = (("configmaps", "create"), ("configmaps/status", "update"), ("configmaps", "delete"))
    assert counted == {(*row, result): 1 for row in rows}
    registry = CollectorRegistry()
    registry.register(WriteMetrics(counted))
    labels = {"resource": "configmaps/status", "verb": "update", "result": result}
    assert registry.get_sample_value("sluice_writes_total", labels) == 1


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "http://proxy.example:3128"),
        ({"https_proxy": "http://proxy.example:3128", "no_proxy": "api.example"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "other.example"}, "http://proxy.example:3128"),
        ({"HTTP_PROXY": "http://proxy.example:3128"}, None),
    ],
)
def test_a_proxy_is_that_of_the_environment(environment, proxy, monkeypatch):
    """As kubectl has it."""
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_for("https://api.example:6443") == proxy


def test_a_password_of_another_program_is_not_sent(tmp_path, monkeypatch):
    """~/.netrc is for curl and its like: a machine named there would stop every request that has a token."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    found = []

    async def ask(client):
        found.append(await client.read("/api/v1/pods"))

    left_open(tmp_path, ask, WHOLE)
    assert found == [json.loads(LIST)]
