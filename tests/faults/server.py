"""`sluice serve` as one process without a cluster, to which tests speak over sockets of their own."""

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.controlplane.processes import Child, free_ports
from tests.server.wire import Answer, Talk, post
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

NO_TIME = 504


class Server:
    """The process, and a connection to it as often as wanted."""

    def __init__(self, folder: Path, policies: Path, started: Callable[[list[str]], list[str]] = list) -> None:
        """Start it; `started` is what to start in the place of its command."""
        certificates = Folder(folder / "certs")
        ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
        (self.port,) = free_ports(1)
        command = ["serve", f"--policies={policies}", f"--cert-dir={certificates.path}", "--no-cluster"]
        command += [f"--listen=127.0.0.1:{self.port}", "--reload-seconds=0.05"]
        self.child = Child("sluice", started([sys.executable, "-m", "webhook.cli.main", *command]), folder)
        self.trust = ssl.create_default_context(cafile=str(certificates.bundle))

    @asynccontextmanager
    async def connected(self, *, plain: bool = False) -> AsyncIterator[Talk]:
        """A connection, once the process takes one; `plain` without a word of TLS."""
        while True:
            try:
                trust = None if plain else self.trust
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=trust)
                break
            except ConnectionError:
                assert self.child.running, self.child.tail()
                await asyncio.sleep(0.1)
        try:
            yield Talk(reader, writer)
        finally:
            writer.transport.abort()


async def reviewed(talk: Talk, request: bytes | None = None) -> dict:
    """Ask for a review until there is time for it, and give the response. Any other answer, or none, fails.

    There is none where the server says when to come again, and where the machine was busy for all of the call's time.
    """
    answer: Answer | None = None
    while answer is None or answer.status == NO_TIME or answer.headers.get("retry-after"):
        answer = await (await talk.send(request or post())).answer()
        assert answer is not None
    assert answer.status == 200, answer.body
    response: dict = json.loads(answer.body)["response"]
    return response
