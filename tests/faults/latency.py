"""How long a replica takes to answer: reviews at a steady rate, and how long anything kept its event loop."""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.faults.two_replicas import Replica
from tests.server.serving import review
from tests.server.wire import LIVE, Talk, post

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


def percentile(found: list[float], share: float) -> float:
    """The value that so many of a hundred do not exceed."""
    return sorted(found)[min(len(found) - 1, int(len(found) * share / 100))]


@contextmanager
def measured(replica: Replica, namespace: str, obj: dict[str, Any]) -> Iterator[Latency]:
    """Send reviews of an object to a replica meanwhile, and look at its event loop."""
    found, over = Latency(), threading.Event()

    async def measure() -> None:
        await asyncio.gather(_reviews(replica, namespace, obj, found.reviews, over), _looks(replica, found.looks, over))

    thread = threading.Thread(target=lambda: asyncio.run(measure()))
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


async def _reviews(
    replica: Replica, namespace: str, obj: dict[str, Any], found: list[float], over: threading.Event
) -> None:
    """Each is due at its time, whether or not the one before is answered: who waits for a turn counts that as well."""
    trust = ssl.create_default_context(cafile=str(replica.authority))
    clients = replica.plane.clients
    trust.load_cert_chain(clients.client_certificate, clients.client_key)
    talk = Talk(*await asyncio.open_connection("127.0.0.1", replica.port, ssl=trust))
    body = json.dumps(review(namespace=namespace, object=obj)).encode()
    requests = [post(body, path=f"/{name}/fail") for name in ("mutate", "validate")]
    due = time.perf_counter()
    while not over.is_set():
        for request in requests:
            await _answered(talk, request)
            found.append(time.perf_counter() - due)
            due += 1 / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
    talk.writer.transport.abort()


async def _looks(replica: Replica, found: list[float], over: threading.Event) -> None:
    """Ask for `/livez`, which has nothing to wait for but the loop."""
    talk = Talk(*await asyncio.open_connection("127.0.0.1", replica.state_port))
    while not over.is_set():
        begun = time.perf_counter()
        await _answered(talk, LIVE)
        found.append(time.perf_counter() - begun)
        await asyncio.sleep(EVERY)
    talk.writer.transport.abort()


async def _answered(talk: Talk, request: bytes) -> None:
    answer = await (await talk.send(request)).answer()
    assert answer is not None
    assert answer.status == 200, answer.body
