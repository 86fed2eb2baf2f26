"""The chart's limit of memory, kept by the kernel, and clients that send as much as they can."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.faults.memory_limit import MemoryLimit, limited
from tests.faults.server import Server, reviewed
from tests.faults.two_replicas import job_of, size
from tests.server.serving import review
from tests.server.wire import post
from tests.shared import ROOT
from webhook.server.body import MAX_LISTS_AND_MAPS

LARGE, OTHERS = 256, 700
"""Connections that send a review of almost 8 MiB each, and others, with all of a head that they may send."""
PIECE = 2**18
"""Bytes that a connection hands over at once: all of a review would wait in this process, encrypted, 256 times."""
FEW = 4
"""As many large bodies as the server holds at once."""
REFUSALS = 20
"""So many sendings may be refused before a large body no longer has to be read."""
READ, REFUSED = {200, 413}, {0, 408, 503, 504}
ALMOST = 8 * 2**20 - 4096
VALUES = (ROOT / "charts" / "sluice" / "values.yaml").read_text()


def limit_of_the_chart() -> int:
    """MiB."""
    found = re.search(r"limits: \{memory: (\d+)Mi\}", VALUES)
    assert found
    return int(found[1])


def padded() -> bytes:
    """One long text."""
    body = json.dumps(review(padding="")).encode()
    return body.replace(b'"padding": ""', b'"padding": "%b"' % (b"x" * (ALMOST - len(body))))


def of_many_containers() -> bytes:
    """A Job that policies look through, of almost as many lists and maps as a body may have."""
    job = job_of("team", "large", 1, 1.0)
    pod = job["spec"]["template"]["spec"]
    (first,) = pod["containers"]
    count = MAX_LISTS_AND_MAPS // 3 - 100
    each = ALMOST // count - len(json.dumps(first)) - len("-000000, ")
    pod["containers"] = [{**first, "image": "i" * each, "name": f"c-{number:06}"} for number in range(count)]
    return json.dumps(review(object=job)).encode()


def of_many_parts() -> bytes:
    """Nothing but brackets, which take many times their size once they are read."""
    body = json.dumps(review(padding=[])).encode()
    return body.replace(b'"padding": []', b'"padding": [%b[]]' % (b"[]," * ((ALMOST - len(body)) // 3)))


@pytest.fixture
def bounded(tmp_path: Path) -> Iterator[tuple[Server, MemoryLimit]]:
    """A process with the shipped policies under the chart's limit."""
    with limited(limit_of_the_chart(), f"sluice-{tmp_path.name}") as limit:
        server = Server(tmp_path, ROOT / "policies", limit.command)
        yield server, limit
        server.child.stop()


@pytest.mark.parametrize("body", [padded, of_many_containers, of_many_parts], ids=lambda body: body.__name__)
def test_the_kernel_kills_nothing(bounded: tuple[Server, MemoryLimit], body: Callable[[], bytes]) -> None:
    """A thousand connections send all they may: large reviews are answered or refused, small ones get verdicts.

    Then a few send theirs until it was read whole.
    """
    server, limit = bounded
    whole, head = post(body()), b"POST /validate HTTP/1.1\r\nHost: x\r\nPadding: " + b"x" * 8000

    pieces = [whole[i : i + PIECE] for i in range(0, len(whole), PIECE)]

    async def send() -> int:
        """Give the status; 0 where the rest of what was refused came too slowly for the answer to arrive."""
        async with server.connected() as talk:
            answer = await (await talk.send(*pieces)).answer()
            return 0 if answer is None else answer.status

    async def insist(count: int) -> Iterable[int]:
        """Send so many at once until each was read. Where none of them was, the server is too slow to read them all
        in its time for a body: then one at a time, and no more once REFUSALS were."""
        read: list[int] = []
        at_once, refused = count, 0
        while len(read) < count and refused <= REFUSALS:
            sent = await asyncio.gather(*(send() for _ in range(min(at_once, count - len(read)))))
            read += (new := [status for status in sent if status in READ])
            if not new:
                at_once, refused = 1, refused + 1
        return read

    async def hold(begun: asyncio.Semaphore, over: asyncio.Event) -> None:
        async with server.connected() as talk:
            await talk.send(head)
            begun.release()
            await over.wait()

    async def small(over: asyncio.Event) -> int:
        """Count verdicts; where all that waits is beyond its bound, whoever sends next is cut off, and comes again."""
        given = 0
        while not over.is_set():
            async with server.connected() as talk:
                answer = await (await talk.send(post())).answer()
                given += answer is not None and answer.status == 200
        return given

    async def go() -> tuple[Counter[int], int]:
        over, begun = asyncio.Event(), asyncio.Semaphore(0)
        async with server.connected() as first:
            await reviewed(first)
        others = [asyncio.create_task(hold(begun, over)) for _ in range(OTHERS)]
        for _ in others:
            await begun.acquire()
        verdicts = asyncio.create_task(small(over))
        statuses = Counter(await asyncio.gather(*(send() for _ in range(LARGE))))
        for _ in range(size(1, 8)):
            statuses.update(await insist(FEW))
        over.set()
        await asyncio.gather(*others)
        return statuses, await verdicts

    statuses, verdicts = asyncio.run(go())
    print(f"{body.__name__}: answers {dict(statuses)}, {verdicts} small reviews meanwhile, "
          f"{limit.peak(server.child.process.pid):.0f} MiB of {limit.mib} at most")  # fmt: skip
    assert statuses.keys() <= READ | REFUSED
    assert verdicts
    assert server.child.running
    assert limit.kills() == 0
