"""How long a replica takes to answer: reviews at a steady rate, and how long anything kept its event loop.

Each replica is asked by a process of its own (`python -m tests.faults.latency`): where Python waits for the lock of its
interpreter, beside the watches of the test, the answer of a replica that had long given it would seem late.
"""

import asyncio
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.faults.two_replicas import Replica
from tests.server.serving import review
from tests.server.wire import LIVE, Talk, post
from tests.shared import ROOT

RATE = 50
"""Reviews a second."""
EVERY = 0.005
"""Seconds between two looks at the event loop."""


@dataclass(slots=True)
class Latency:
    """Seconds that each review took, and seconds that each look at the event loop had to wait."""

    reviews: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)

    def p99(self) -> float:
        """Milliseconds that a review in a hundred took, or longer."""
        return 1000 * percentile(self.reviews, 99)

    def show(self, what: str) -> None:
        """Print a line."""
        p50, kept = 1000 * percentile(self.reviews, 50), 1000 * max(self.looks)
        print(f"{what:72} p50 {p50:6.2f} ms  p99 {self.p99():7.2f} ms  loop kept {kept:6.0f} ms at most  "
              f"({len(self.reviews):,} reviews)", flush=True)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom to ask, and about what: what a driver is told in a line of JSON."""

    port: int
    state_port: int
    authority: str
    certificate: str
    key: str
    namespace: str
    obj: dict[str, Any]


def percentile(found: list[float], share: float) -> float:
    """The value that so many of a hundred do not exceed."""
    return sorted(found)[min(len(found) - 1, int(len(found) * share / 100))]


@contextmanager
def measured(replica: Replica, namespace: str, obj: dict[str, Any]) -> Iterator[Latency]:
    """Send reviews of an object to a replica meanwhile, and look at its event loop; give it all at the end."""
    found, clients = Latency(), replica.plane.clients
    files = (replica.authority, clients.client_certificate, clients.client_key)
    asked = Asked(replica.port, replica.state_port, *map(str, files), namespace, obj)
    command = [sys.executable, "-m", __name__]
    driver = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert driver.stdin is not None
    assert driver.stdout is not None
    try:
        print(json.dumps(asdict(asked)), file=driver.stdin, flush=True)
        assert driver.stdout.readline() == "begun\n"
        yield found
    finally:
        given, _ = driver.communicate()  # it ends with its input
    assert driver.returncode == 0
    found.reviews, found.looks = json.loads(given)


async def _drive(asked: Asked) -> Latency:
    """Ask until the standard input ends."""
    found, over = Latency(), asyncio.Event()
    trust = ssl.create_default_context(cafile=asked.authority)
    trust.load_cert_chain(asked.certificate, asked.key)
    talk = Talk(*await asyncio.open_connection("127.0.0.1", asked.port, ssl=trust))
    state = Talk(*await asyncio.open_connection("127.0.0.1", asked.state_port))
    print("begun", flush=True)
    asyncio.get_running_loop().add_reader(sys.stdin, over.set)
    body = json.dumps(review(namespace=asked.namespace, object=asked.obj)).encode()
    await asyncio.gather(_reviews(talk, body, found.reviews, over), _looks(state, found.looks, over))
    talk.writer.transport.abort()
    state.writer.transport.abort()
    return found


async def _reviews(talk: Talk, body: bytes, found: list[float], over: asyncio.Event) -> None:
    """Each is due at its time, whether or not the one before is answered: who waits for a turn counts that as well."""
    requests = [post(body, path=f"/{name}/fail") for name in ("mutate", "validate")]
    due = time.perf_counter()
    while not over.is_set():
        for request in requests:
            await _answered(talk, request)
            found.append(time.perf_counter() - due)
            due += 1 / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def _looks(talk: Talk, found: list[float], over: asyncio.Event) -> None:
    """Ask for `/livez`, which has nothing to wait for but the loop."""
    while not over.is_set():
        begun = time.perf_counter()
        await _answered(talk, LIVE)
        found.append(time.perf_counter() - begun)
        await asyncio.sleep(EVERY)


async def _answered(talk: Talk, request: bytes) -> None:
    answer = await (await talk.send(request)).answer()
    assert answer is not None
    assert answer.status == 200, answer.body


def main() -> None:
    """Be such a process: a line of JSON in, "begun" out, and at the end what was found as JSON."""
    found = asyncio.run(_drive(Asked(**json.loads(sys.stdin.readline()))))
    print(json.dumps([found.reviews, found.looks]))


if __name__ == "__main__":
    main()
