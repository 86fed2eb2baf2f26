"""`sluice run`: the whole of Sluice on this machine, without a cluster.

Certificate, server and queue core are those of `sluice serve`, over the store in memory. Manifests are sent to the
server's own HTTPS endpoint as an API server would; what is let in runs for its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import ssl
import sys
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Final

import aiohttp
import click
from rich.console import Console
from rich.text import Text

from webhook import setting_values
from webhook.cli import exits, shipped
from webhook.cli.demo.api_server import CreateOutcome, Front
from webhook.cli.demo.kubelet import Kubelet
from webhook.cli.demo.story import closing, opening, told_of_file, try_next
from webhook.cli.demo.tables import Life, ended_table, sent_table
from webhook.cli.inputs import manifests
from webhook.cli.option_types import FOLDER, POLICIES, THERE, Read, number
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, MANAGED
from webhook.config import Config, PageMode
from webhook.daemon import LOOPBACK, Daemon
from webhook.jobs.describe import describe
from webhook.setting_values import host_and_port
from webhook.store.errors import StoreError
from webhook.store.memory import MemoryStore
from webhook.store.objects import EventType, Object, ObjectStore, uid_of
from webhook.tls.folder import Folder
from webhook.tls.renewal import ensure

PATIENCE = 30.0
"""Seconds after the last manifest until `--once` gives up waiting for jobs that were let in."""
PAUSE = 0.1
"""Seconds after a job, as between two commands of a person: the next one is told what this one takes."""
QUEUES = "queues.yaml"
PIPED_WIDTH = 150


@dataclass(slots=True)
class EmbeddedRun:
    """What happened so far, by uid of the object sent."""

    console: Console
    next: list[Text]
    """What is said at the end: commands to go on with."""
    verbose: bool = False
    begun: float = field(default_factory=monotonic)
    lives: dict[str, Life] = field(default_factory=dict)

    def sent(self, outcome: CreateOutcome) -> None:
        """Note one create."""
        self.lives[uid_of(outcome.obj)] = Life(outcome, monotonic() - self.begun)

    def told(self, what: str, job: Object) -> None:
        """Note what the kubelet tells."""
        if (life := self.lives.get(uid_of(job))) is None:
            return
        if what == "started":
            life.started = monotonic() - self.begun
        else:
            life.finished = monotonic() - self.begun

    def say(self, lines: list[Text]) -> None:
        """Print lines as they are."""
        for line in lines:
            self.console.print(line, soft_wrap=True)

    def running(self) -> list[Life]:
        """Give the jobs that started and have not ended."""
        return [life for life in self.lives.values() if life.started is not None and life.finished is None]


EXAMPLES: Final = """\b
Examples:
  sluice run              sample manifests, until Ctrl-C
  sluice run --once -v    the same to its end, with every field of every patch
  sluice run --once -f jobs.yaml --policies policies --queues queues.yaml
"""


@click.command(epilog=EXAMPLES)
@click.option("-f", "--file", "files", multiple=True, type=THERE, help="Manifests.")
@click.option("--policies", "folder", type=POLICIES, help="Folder of policies.")
@click.option("--queues", type=THERE, help="Objects that exist at the start.")
@click.option("--once", is_flag=True, help="Exit when every allowed job has run, instead of on Ctrl-C.")
@click.option(
    "--listen",
    type=Read("host:port", setting_values.address),
    default="127.0.0.1:0",
    show_default=True,
    help="HOST:PORT of the admission server.",
)
@click.option(
    "--ui-listen",
    type=Read("host:port", setting_values.address),
    default="127.0.0.1:0",
    show_default=True,
    help="HOST:PORT of the page.",
)
@click.option("--cert-dir", type=FOLDER,
              help="Folder of the certificate.  [default: a temporary one]")  # fmt: skip
@click.option("--seconds", type=number(0, 3_600, "seconds"), default=1.0, show_default=True,
              help="Run time of jobs that do not set it.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show every object and every field of the patches.")
def run(
    files: tuple[Path, ...], folder: Path | None, queues: Path | None, once: bool, listen: str, ui_listen: str,
    cert_dir: Path | None, seconds: float, verbose: bool,
) -> None:  # fmt: skip
    """Serve, apply manifests, and run the queues on this machine. Without -f, sample manifests are sent.

    Ends with 1 where a job that was started did not end, or the endpoint failed.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    paths = files or tuple(sorted(p for p in shipped.samples().glob("*.yaml") if p.name != QUEUES))
    there = manifests(queues or shipped.samples() / QUEUES)
    sent = [(path, manifests(path)) for path in paths]
    given = {"-f": files, "--policies": (folder,) if folder else (), "--queues": (queues,) if queues else ()}
    following = try_next(paths, {option: named for option, named in given.items() if named})
    config = Config(
        policies=((folder or shipped.policies()).resolve(),), listen=listen, cluster=False, leader_election=False,
        ui=PageMode.READ_ONLY, ui_listen=ui_listen,
    )  # fmt: skip
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-") as made:  # others may not look into it
            config = replace(config, cert_dir=Path(cert_dir or made).resolve())
            ensure(Folder(config.cert_dir), ("localhost", "127.0.0.1"), datetime.now(UTC))
            sys.exit(asyncio.run(_run(config, there, sent, following, once=once, seconds=seconds, verbose=verbose)))
    except (OSError, ValueError, StoreError) as error:
        click.echo(f"sluice run: {error}", err=True)
        sys.exit(exits.BAD_INPUT)


async def _run(
    config: Config,
    there: list[Object],
    sent: list[tuple[Path, list[Object]]],
    following: list[Text],
    *,
    once: bool,
    seconds: float,
    verbose: bool,
) -> int:
    console = Console()
    happened = EmbeddedRun(console if console.is_terminal else Console(width=PIPED_WIDTH), following, verbose)
    store = MemoryStore()
    for obj in there:
        await store.create(obj)
    daemon = Daemon(config, store)
    await daemon.start()
    kubelet = asyncio.create_task(Kubelet(store, MANAGED, seconds).run(happened.told))
    try:
        await daemon.engine.warm.wait()
        url = f"https://127.0.0.1:{daemon.port}"
        happened.say(opening(url, page_address(config, daemon.ui_port), len(sent)))
        trust = ssl.create_default_context(cafile=str(Folder(config.cert_dir).bundle))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            front = Front(store, session, url, lambda: datetime.now(UTC))
            for path, objects in sent:
                await _send(front, store, happened, path, objects)
        await _settle(happened, once=once)
    except aiohttp.ClientError as error:
        happened.console.print(f"[red]server error:[/] {error}")
        return exits.FAILED
    finally:
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)
        await daemon.stop()
    return exits.FAILED if happened.running() else exits.PASSED


def page_address(config: Config, port: int) -> str:
    """Give where the page is to be looked at."""
    host = host_and_port(config.ui_listen)[0]
    scheme = "http" if host in LOOPBACK else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/ui/"


async def _send(front: Front, store: ObjectStore, happened: EmbeddedRun, path: Path, objects: list[Object]) -> None:
    outcomes = []
    for obj in objects:
        if describe(obj) is not None:
            await _taken_up(store)
        outcome = await front.create(obj)
        happened.sent(outcome)
        outcomes.append(outcome)
        if outcome.stored and (job := describe(outcome.obj)) and job.queue:
            await asyncio.sleep(PAUSE)
    if happened.verbose:
        happened.console.print(sent_table(path.stem, outcomes))
    else:
        happened.say(told_of_file(path.stem, outcomes))


async def _taken_up(store: ObjectStore) -> None:
    """Wait until every queue there is has a status: until then a job would be told that its queue does not exist."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            for kind in (CLUSTER_QUEUE, LOCAL_QUEUE):
                listing = await store.list(kind)
                new = {uid_of(queue) for queue in listing.items if "conditions" not in queue.get("status", {})}
                changes = store.watch(kind, listing.version)
                while new:
                    event = await anext(changes)
                    if event.type is EventType.DELETED or "conditions" in event.object.get("status", {}):
                        new.discard(uid_of(event.object))


async def _settle(happened: EmbeddedRun, *, once: bool) -> None:
    """Let the jobs run: to their end with `once`, else until Ctrl-C or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, stop.set)
    quiet, deadline = monotonic(), monotonic() + PATIENCE
    while not stop.is_set() and monotonic() < deadline and monotonic() - quiet < 1.0:
        before = [(life.started, life.finished) for life in happened.lives.values()]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.1)
        if happened.running() or before != [(life.started, life.finished) for life in happened.lives.values()]:
            quiet = monotonic()
    lives = list(happened.lives.values())
    if happened.verbose:
        happened.console.print(ended_table(lives))
    happened.say(closing(lives) + happened.next)
    if not once and not stop.is_set():
        happened.console.print("Serving until Ctrl-C.")
        await stop.wait()
