"""Clients that are many, slow, or gone, and policies that change, at one process whose reviews go on meanwhile."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.faults.server import Server, reviewed
from tests.faults.two_replicas import size
from tests.server.wire import BODY, Talk, post

MANY = 1000
COMING = 32
"""Of these so many connect at once: the server waits ten seconds for the handshake, and for the head after it."""
AT_ONCE = 16
POLICIES = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: denies}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - {expression: "false", message: "set NUMBER"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: denies}
spec: {policyName: denies, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: warns}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - {expression: "false", message: "set NUMBER"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: warns}
spec: {policyName: warns, validationActions: [Warn]}
"""
"""One that denies and one that warns: a review shows both of them."""
HELLO = bytes.fromhex("16030101fe010001fa0303")
"""How a TLS connection begins, and no more."""


class Swapped(Server):
    """A server whose one set of policies can be replaced by another."""

    def __init__(self, folder: Path) -> None:
        self.policies = folder / "policies"
        self.policies.mkdir()
        self.swap(0)
        super().__init__(folder, self.policies)

    def swap(self, number: int) -> None:
        """Put another set of policies in the place of the one that is there."""
        draft = self.policies.with_name("draft.yaml")
        draft.write_text(POLICIES.replace("NUMBER", str(number)))
        draft.replace(self.policies / "policies.yaml")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Swapped]:
    """A running process."""
    made = Swapped(tmp_path)
    yield made
    made.child.stop()


async def set_of(talk: Talk) -> int:
    """The number of the set that decided a review, which its policies agree about."""
    response = await reviewed(talk)
    told = {response["status"]["message"].rpartition(" ")[2], *(w.rpartition(" ")[2] for w in response["warnings"])}
    (number,) = told
    return int(number)


def test_a_thousand_connections(server: Swapped) -> None:
    """Each gets a verdict, and another one once all are open."""

    async def client(coming: asyncio.Semaphore, everybody: asyncio.Barrier) -> set[int]:
        async with AsyncExitStack() as stack:
            async with coming:
                talk = await stack.enter_async_context(server.connected())
                first = await set_of(talk)
            await everybody.wait()
            return {first, await set_of(talk)}

    async def go() -> list[set[int]]:
        coming, everybody = asyncio.Semaphore(COMING), asyncio.Barrier(MANY)
        return await asyncio.gather(*(client(coming, everybody) for _ in range(MANY)))

    assert asyncio.run(go()) == [{0}] * MANY


def test_slow_and_half_open_clients_hold_up_nobody(server: Swapped) -> None:
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
            await set_of(talk)
            slow = asyncio.gather(*(idle(*part) for part in parts * size(25, 100)))
            while not slow.done():
                await set_of(talk)
                given += 1
                await asyncio.sleep(0.01)
            await slow
        return given

    assert asyncio.run(go()) > 10


def test_policies_are_swapped_under_load(server: Swapped) -> None:
    """Every review of sixteen connections is decided by one whole set, or the next, in the order of their coming."""

    async def client(told: list[int], over: asyncio.Event) -> None:
        async with server.connected() as talk:
            while not over.is_set():
                told.append(await set_of(talk))

    async def go() -> list[list[int]]:
        seen: list[list[int]] = [[] for _ in range(AT_ONCE)]
        over = asyncio.Event()
        clients = asyncio.gather(*(client(told, over) for told in seen))
        for number in range(size(4, 30)):
            server.swap(number)
            while not all(told and told[-1] == number for told in seen):
                await asyncio.sleep(0.01)
                if clients.done():
                    await clients  # it failed
        over.set()
        await clients
        return seen

    for told in asyncio.run(go()):
        assert told == sorted(told)
        assert set(told) == set(range(size(4, 30)))
        assert len(told) > size(4, 30)
