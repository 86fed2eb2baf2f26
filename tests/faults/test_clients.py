"""Clients that are many, slow, or gone, and policies that change, at one process whose reviews go on meanwhile."""

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.controlplane.processes import Child, free_ports
from tests.faults.two_replicas import size
from tests.server.wire import BODY, LIVE, Talk, post
from webhook.tls.folder import Folder
from webhook.tls.renewal import ensure

MANY = 1000
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: never}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - {expression: "false", message: "set NUMBER"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: never}
spec: {policyName: never, validationActions: [Deny]}
"""
HELLO = bytes.fromhex("16030101fe010001fa0303")
"""How a TLS connection begins, and no more."""


class Server:
    """`sluice serve` with one policy, and no cluster."""

    def __init__(self, folder: Path) -> None:
        self.policies = folder / "policies"
        self.policies.mkdir()
        self.swap(0)
        certificates = Folder(folder / "certs")
        ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
        (self.port,) = free_ports(1)
        command = ["serve", f"--policies={self.policies}", f"--cert-dir={certificates.path}", "--no-cluster"]
        command += [f"--listen=127.0.0.1:{self.port}", "--reload-seconds=0.05"]
        self.child = Child("sluice", [sys.executable, "-m", "webhook.cli.main", *command], folder)
        self.trust = ssl.create_default_context(cafile=str(certificates.bundle))

    def swap(self, number: int) -> None:
        """Put another set of policies in the place of the one that is there."""
        draft = self.policies.with_name("draft.yaml")
        draft.write_text(POLICY.replace("NUMBER", str(number)))
        draft.replace(self.policies / "policy.yaml")

    @asynccontextmanager
    async def connected(self, *, plain: bool = False) -> AsyncIterator[Talk]:
        """A connection, once the process listens; `plain` without a word of TLS."""
        while True:
            try:
                trust = None if plain else self.trust
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=trust)
                break
            except ConnectionRefusedError:
                assert self.child.running, self.child.tail()
                await asyncio.sleep(0.1)
        try:
            yield Talk(reader, writer)
        finally:
            writer.transport.abort()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running process."""
    made = Server(tmp_path)
    yield made
    made.child.stop()


async def verdict(talk: Talk) -> str:
    """Ask for a review, again where the server says so; give the denial's message. Any other answer, or none, fails."""
    answer = None
    while answer is None or answer.headers.get("retry-after"):
        answer = await (await talk.send(post())).answer()
        assert answer is not None
    assert answer.status == 200, answer.body
    return str(json.loads(answer.body)["response"]["status"]["message"])


def test_a_thousand_connections(server: Server) -> None:
    """All are open at once, and each gets its verdict."""

    async def one(talk: Talk, everybody: asyncio.Barrier) -> bool:
        await everybody.wait()
        return "set 0" in await verdict(talk)

    async def client(everybody: asyncio.Barrier) -> bool:
        async with server.connected() as talk:
            return await one(talk, everybody)

    async def go() -> list[bool]:
        async with server.connected() as first:
            await verdict(first)
        everybody = asyncio.Barrier(MANY)
        return await asyncio.gather(*(client(everybody) for _ in range(MANY)))

    assert asyncio.run(go()) == [True] * MANY


def test_slow_and_half_open_clients_hold_up_nobody(server: Server) -> None:
    """Some say half of a TLS hello, some nothing, some half a head, some half a body, some read no answer.

    Verdicts are given all the while; each of these connections is closed by the server in the end.
    """
    request = post()
    parts = [(True, b""), (True, HELLO), (False, request[:20]), (False, request[: -len(BODY) // 2])]

    async def idle(plain: bool, begun: bytes) -> bool:
        async with server.connected(plain=plain) as talk:
            await talk.send(begun)
            return bool(await talk.answers()) or True

    async def go() -> int:
        given = 0
        async with server.connected() as talk:
            await verdict(talk)
            slow = asyncio.gather(*(idle(*part) for part in parts * size(25, 100)))
            while not slow.done():
                await verdict(talk)
                given += 1
                await asyncio.sleep(0.01)
            await slow
        return given

    assert asyncio.run(go()) > 10


def test_policies_are_swapped_under_load(server: Server) -> None:
    """Every review is decided by one whole set or the next, in the order in which they came into force."""

    async def go() -> list[str]:
        told: list[str] = []
        async with server.connected() as talk:
            for number in range(1, size(4, 30)):
                server.swap(number)
                while not told or f"set {number}" not in told[-1]:
                    told.append(await verdict(talk))
            await (await talk.send(LIVE)).answer()
        return told

    seen = list(dict.fromkeys(asyncio.run(go())))
    assert [int(text.rpartition(" ")[2]) for text in seen] == list(range(size(4, 30)))
