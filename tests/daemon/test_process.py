"""`sluice serve` as a process of its own: what it holds of what is sent to it, and how it ends."""

import asyncio
import json
import re
import shutil
import signal
import ssl
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from tests.controlplane.processes import Child, free_ports
from tests.patience import until
from tests.server.serving import review
from tests.server.wire import LIVE, READY, Talk, post
from tests.shared import ROOT
from webhook.documents import read
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

CLIENTS, SIZE = 40, 8_000_000


@pytest.fixture
def process(tmp_path):
    """The process with the shipped policies and no cluster."""
    yield from started(tmp_path, f"--policies={ROOT / 'policies'}")


def started(tmp_path, *arguments, cluster="--no-cluster"):
    """A process of `serve`, without a cluster; it has ended when the test is over."""
    certificates = Folder(tmp_path / "certs")
    ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
    port, state = free_ports(2)
    command = ["serve", *arguments, f"--cert-dir={certificates.path}", cluster]
    command += [f"--listen=127.0.0.1:{port}", f"--state-listen=127.0.0.1:{state}"]
    child = Child("sluice", [sys.executable, "-m", "webhook.cli.main", *command], tmp_path)
    child.port, child.state = port, state
    child.trust = ssl.create_default_context(cafile=str(certificates.bundle))
    yield child
    child.stop()


@asynccontextmanager
async def connected(process, *, plain=False):
    """A connection to one of the two ports; waits until the process listens."""
    while True:
        try:
            number = process.state if plain else process.port
            reader, writer = await asyncio.open_connection("127.0.0.1", number, ssl=None if plain else process.trust)
            break
        except OSError:
            assert process.running, process.tail()
            await asyncio.sleep(0.1)
    try:
        yield Talk(reader, writer)
    finally:
        writer.transport.abort()


@pytest.fixture
def early(tmp_path):
    """The process that is started before another container has brought its policies."""
    (tmp_path / "sluice.yaml").write_text(f"policies: [{tmp_path / 'git' / 'current' / 'policies'}]")
    yield from started(tmp_path, f"--config={tmp_path / 'sluice.yaml'}")


def test_it_waits_for_a_folder_that_is_not_there_yet(early, tmp_path):
    """Alive and not ready, it says what it waits for; when a link to the folder appears, it serves what is there."""

    async def state(path):
        async with connected(early, plain=True) as talk:
            answer = await (await talk.send(path)).answer()
            # Without an answer the connection was that of the waiting process, whose listener has just been replaced.
            return (answer.status, answer.body.decode()) if answer is not None else (0, "")

    async def go():
        assert (await state(LIVE))[0] == 200
        status, told = await state(READY)
        assert (status, "git/current/policies, which does not exist yet" in told) == (503, True)
        shutil.copytree(ROOT / "policies" / "gpu-integer", tmp_path / "git" / "one" / "policies" / "gpu-integer")
        (tmp_path / "git" / "current").symlink_to("one")

        async def ready():
            return (await state(READY))[0] == 200

        await until(ready, "it is ready")
        async with connected(early) as talk:
            return await (await talk.send(post(json.dumps(review()).encode(), path="/mutate"))).answer()

    assert asyncio.run(go()).status == 200


def test_sigterm_ends_it_while_it_waits(early):
    """With 0, as at any other time."""

    async def go():
        async with connected(early, plain=True):
            early.process.send_signal(signal.SIGTERM)
            return await asyncio.to_thread(early.process.wait)

    assert asyncio.run(go()) == 0


@pytest.fixture
def cut_off(tmp_path):
    """The process whose certificates are in a Secret of an API server that does not answer."""
    (port,) = free_ports(1)
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    config = {"clusters": [cluster], "contexts": [context], "users": users, "current-context": "c"}
    (tmp_path / "kubeconfig").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
    where = f"--kubeconfig={tmp_path / 'kubeconfig'}"
    yield from started(tmp_path, "--certificate-secret=sluice-tls", cluster=where)


def test_it_waits_for_the_secret_of_its_certificates(cut_off):
    """Alive and not ready, it says why, and ends when it is told to."""

    async def go():
        found = []
        for path in (LIVE, READY):
            async with connected(cut_off, plain=True) as talk:
                answer = await (await talk.send(path)).answer()
                found.append((answer.status, answer.body.decode()))
        cut_off.process.send_signal(signal.SIGTERM)
        return *found, await asyncio.to_thread(cut_off.process.wait)

    alive, ready, code = asyncio.run(go())
    assert (alive[0], ready[0], code) == (200, 503, 0)
    assert "the Secret sluice-tls cannot be read" in ready[1]


def large_review():
    """A Job with as much text in an annotation as a body may have."""
    body = json.dumps(review(options={"padding": "@"})).encode()
    return body.replace(b"@", b"x" * (SIZE - len(body)))


def test_without_a_cluster_the_policies_decide(process):
    """Nobody knows the Namespace of a request then; it is no reason to refuse it."""

    async def go():
        async with connected(process) as talk:
            return json.loads((await (await talk.send(post(path="/mutate"))).answer()).body)["response"]

    assert asyncio.run(go())["allowed"]


def memory_limit():
    """Bytes that the chart gives the process."""
    (values,) = read((ROOT / "charts" / "sluice" / "values.yaml").read_text())
    return int(values.value["resources"]["limits"]["memory"].removesuffix("Mi")) * 2**20


def peak(pid):
    """The most that a process had in memory, in bytes."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) * 1024


async def ready(state):
    """Whether the process says that it is."""
    return (await (await state.send(READY)).answer()).status == 200


def test_forty_large_bodies_do_not_take_it_past_its_limit(process):
    """Bodies of 8 MiB on 40 connections at once: each is answered, or asked to come again; so is health."""

    async def one(request):
        async with connected(process) as talk:
            return await (await talk.send(request)).answer()

    async def go():
        request = post(large_review(), path="/mutate")
        async with connected(process) as main, connected(process, plain=True) as state:
            await until(lambda: ready(state), "the process is ready")
            sending = asyncio.gather(*(one(request) for _ in range(CLIENTS)))
            alive = []
            while not sending.done():
                for talk, probe in ((main, LIVE), (state, READY)):
                    alive.append((await (await talk.send(probe)).answer()).status)
            return await sending, await one(request), alive

    answers, later, alive = asyncio.run(go())
    assert {answer.status for answer in answers if answer} <= {200, 408, 503}
    assert all(answer.headers["retry-after"] == "1" for answer in answers if answer and answer.status == 503)
    assert later.status in (200, 408)
    assert set(alive) == {200}
    assert peak(process.process.pid) < memory_limit()


def test_sigterm_ends_it_without_a_word_lost(process):
    """A request that is half sent when SIGTERM comes gets its verdict; the process ends with 0 and no traceback."""

    async def go():
        request = post()
        async with connected(process) as talk, connected(process) as idle:
            assert (await (await talk.send(request)).answer()).status == 200
            await talk.send(request[:-10])
            assert (await (await idle.send(LIVE)).answer()).status == 200
            process.process.send_signal(signal.SIGTERM)
            assert await idle.ended()
            answer = await (await talk.send(request[-10:])).answer()
            return answer.status, answer.headers["connection"], await talk.ended()

    assert asyncio.run(go()) == (200, "close", True)
    assert process.process.wait(60) == 0
    assert "Traceback" not in process.log.read_text()
    assert process.log.read_text().rstrip().endswith("stopped")
