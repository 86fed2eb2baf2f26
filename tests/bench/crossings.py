"""How many files of ours a review crosses, and how often control changes file: what a reader has to follow.

The running process answers one review over its socket, after a few to warm up, while each call of a function in
`webhook/` is noted; what expressions were compiled to has no file. Counts, no times: the same on every machine.
"""

import asyncio
import ssl
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import aiohttp
from rich.console import Console
from rich.table import Table

from tests.bench import bodies
from tests.shared import ROOT
from webhook.config import Config, QueueMode
from webhook.daemon import Daemon
from webhook.store.memory import MemoryStore
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

POLICIES = ROOT / "policies"
PACKAGE = f"{ROOT / 'webhook'}/"
WARM = 3


@dataclass(slots=True)
class Crossings:
    """Calls by file, and changes from the file of one call to that of the next."""

    calls: Counter[str] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: str = ""

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Take a call; what `sys.setprofile` is given."""
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(PACKAGE):
            return
        name = name.removeprefix(PACKAGE)
        self.calls[name] += 1
        if self.last and name != self.last:
            self.changes[self.last, name] += 1
        self.last = name


@dataclass(frozen=True, slots=True)
class Served:
    """The running process, and how to ask it."""

    daemon: Daemon
    ask: Callable[[str, bytes], Awaitable[None]]


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    """The process with the shipped policies and no cluster."""
    certificates = Folder(folder)
    ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
    config = Config(
        policies=(POLICIES,), listen="127.0.0.1:0", cert_dir=folder, mode=QueueMode.NONE, leader_election=False
    )  # fmt: skip
    store = MemoryStore()
    await store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    daemon = Daemon(config, store)
    await daemon.start()
    trust = ssl.create_default_context(cafile=str(certificates.bundle))
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            yield Served(daemon, lambda path, body: _ask(session, f"https://127.0.0.1:{daemon.port}{path}", body))
    finally:
        await daemon.stop()


async def _ask(session: aiohttp.ClientSession, url: str, body: bytes) -> None:
    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
        if answer.status != 200:
            raise RuntimeError(f"{url}: {answer.status} {await answer.text()}")
        response = (await answer.json())["response"]
        if not response["allowed"]:
            raise RuntimeError(f"{url}: {response['status']['message']}")


async def count(path: str, body: bytes) -> Crossings:
    """Give the crossings of one review, sent to `path`."""
    found = Crossings()
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as process:
            for _ in range(WARM):
                await process.ask(path, body)
            sys.setprofile(found.note)
            try:
                await process.ask(path, body)
            finally:
                sys.setprofile(None)
    return found


def main() -> None:
    """Print the counts, and the changes that come most often in a mutate review."""
    job = bodies.job()
    cases = {"/mutate": job, "/validate": bodies.shaped(job, POLICIES)}
    found = {path: asyncio.run(count(path, body)) for path, body in cases.items()}
    table = Table("a Job", "files", "calls", "changes of file", title="what a review crosses")
    for path, crossings in found.items():
        figures = len(crossings.calls), crossings.calls.total(), crossings.changes.total()
        table.add_row(path, *map(str, figures))
    often = Table("from", "to", "changes", title="most often in /mutate")
    for (before, after), times in found["/mutate"].changes.most_common(15):
        often.add_row(before, after, str(times))
    for each in (table, often):
        Console(width=120).print(each)


if __name__ == "__main__":
    main()
