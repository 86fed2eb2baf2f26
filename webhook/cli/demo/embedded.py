"""All of Sluice over the store in memory, with what stands in for a cluster around it: one run of `sluice run`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final

import aiohttp
from rich.text import Text

from webhook.cli import exits
from webhook.cli.console import Console
from webhook.cli.demo.api_server import CreateOutcome, Front, front
from webhook.cli.demo.arrivals import arrive
from webhook.cli.demo.kubelet import Kubelet
from webhook.cli.demo.lives import JobLives
from webhook.cli.demo.story import Story
from webhook.cli.demo.tables import ended_table, sent_table
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, MANAGED, WORKLOAD
from webhook.cluster.workloads.conditions import WAITING
from webhook.config import Config
from webhook.daemon import Daemon
from webhook.jobs.read_job import read_job
from webhook.kube.condition_types import ADMITTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import find, holds
from webhook.setting_values import LOOPBACK, host_and_port
from webhook.store.memory import MemoryStore
from webhook.store.objects import Object, key_of, uid_of
from webhook.tls.folder import Folder

END_SECONDS: Final = 30.0
"""Seconds after the last manifest until `--once` gives up waiting for jobs that were admitted."""
DECIDED: Final = 10.0
"""Seconds in which the core decides about a job that was sent."""
QUIET: Final = 1.5
"""Seconds without a start or an end, of a loop that ran meanwhile, after which nothing more is expected."""
START_SECONDS: Final = 3.0
"""Seconds in which jobs start, where their end is not waited for."""
TURN: Final = 0.1
"""Seconds between two looks whether anything starts or ends."""
LOOK: Final = 0.02
PIPED_WIDTH: Final = 150
Files = Sequence[tuple[Path, list[Object]]]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is there at the start, what is sent, and what then arrives again and again; how long jobs run.

    `once` ends the run when every job that was admitted has ended; `verbose` shows tables.
    """

    there: Sequence[Object]
    files: Files
    arriving: Sequence[Object]
    seconds: float
    once: bool
    verbose: bool


async def run(config: Config, plan: RunPlan, story: Story) -> int:
    """Serve, send, and run the jobs; give the exit code. Raises what a daemon raises at its start, and StoreError."""
    console = Console()
    console = console if console.is_terminal else Console(width=PIPED_WIDTH)
    store = MemoryStore()
    for obj in plan.there:
        await store.create(obj)
    daemon, lives = Daemon(config, store), JobLives()
    await daemon.start()
    kubelet = asyncio.create_task(Kubelet(store, MANAGED, plan.seconds).run(lives.told))
    try:
        await daemon.engine.warm.wait()
        url = f"https://127.0.0.1:{daemon.port}"
        async with front(store, url, Folder(config.cert_dir).bundle) as api:
            await EmbeddedRun(console, daemon, store, api, lives, story).tell(plan, url)
    except aiohttp.ClientError as error:
        console.print(f"[red]server error:[/] {error}")
        return exits.FAILED
    finally:
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)
        await daemon.stop()
    return exits.FAILED if plan.once and lives.running() else exits.PASSED


@dataclass(frozen=True, slots=True)
class EmbeddedRun:
    """A run in which everything has started."""

    console: Console
    daemon: Daemon
    store: MemoryStore
    front: Front
    lives: JobLives
    story: Story

    async def tell(self, plan: RunPlan, url: str) -> None:
        """Send the files, let the jobs run, and say what becomes of them; then serve until Ctrl-C, unless `once`."""
        self._say(self.story.opening(url if plan.verbose else ""))
        for path, objects in plan.files:
            await self._send(path, objects, verbose=plan.verbose)
        stop = _stopped()
        await self._settle(stop, to_their_end=plan.once)
        if plan.verbose:
            self.console.print(ended_table(self.lives.all()))
        self._say(self.story.closing(self.lives.all()))
        if plan.once or stop.is_set():
            return
        self._say(self.story.serving(page_address(self.daemon.config, self.daemon.ui_port)))
        arriving = asyncio.create_task(arrive(self.front, self.store, plan.arriving))
        await stop.wait()
        arriving.cancel()
        await asyncio.gather(arriving, return_exceptions=True)

    def _say(self, lines: Iterable[Text]) -> None:
        for line in lines:
            self.console.print(line, soft_wrap=True)

    async def _send(self, path: Path, objects: Sequence[Object], *, verbose: bool) -> None:
        outcomes = []
        for obj in objects:
            if read_job(obj) is not None:
                await _until(self._knows_all_queues)
            outcome = await self.front.create(obj)
            self.lives.sent(outcome)
            outcomes.append(outcome)
            if self.lives.by_uid[uid_of(outcome.obj)].queue:
                await _until(partial(self._has_decided, outcome))
        if verbose:
            self.console.print(sent_table(path.stem, outcomes))
        else:
            self._say(self.story.file(path.stem, outcomes))

    async def _knows_all_queues(self) -> bool:
        """Return whether the core knows every queue; until then a job would be warned that its queue does not exist."""
        assert self.daemon.core is not None
        state = self.daemon.core.state
        queues = {key_of(queue)[1] for queue in (await self.store.list(CLUSTER_QUEUE)).items}
        local_queues = {"/".join(key_of(queue)) for queue in (await self.store.list(LOCAL_QUEUE)).items}
        return queues <= state.by_queue.keys() and local_queues <= state.local_queues.keys()

    async def _has_decided(self, outcome: CreateOutcome) -> bool:
        """Return whether a job's Workload says what the core decided; the next job is told what this one takes."""
        namespace, uid = key_of(outcome.obj)[0], uid_of(outcome.obj)
        return any(
            find(workload, QUOTA_RESERVED) or find(workload, WAITING)
            for workload in (await self.store.list(WORKLOAD, namespace)).items
            if uid in (owner.get("uid") for owner in workload["metadata"].get("ownerReferences") or ())
        )

    async def _settle(self, stop: asyncio.Event, *, to_their_end: bool) -> None:
        """Run until no job starts or ends any more, or until Ctrl-C; or only until they start, within some seconds."""
        quiet, deadline = 0.0, monotonic() + (END_SECONDS if to_their_end else START_SECONDS)
        while not stop.is_set() and monotonic() < deadline and quiet < QUIET:
            before = self.lives.marks()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TURN)
            quiet += TURN  # not by the clock: a machine that stood still has not been quiet
            if before != self.lives.marks() or (to_their_end and await self._some_are_admitted()):
                quiet = 0.0

    async def _some_are_admitted(self) -> bool:
        """Return whether a job runs or has quota to start, or its end is not counted yet."""
        workloads = (await self.store.list(WORKLOAD)).items
        return self.lives.running() or any(holds(w, ADMITTED) and not holds(w, FINISHED) for w in workloads)


def page_address(config: Config, port: int) -> str:
    """Return the line with the address of the page."""
    host = host_and_port(config.ui_listen)[0]
    scheme = "http" if host in LOOPBACK else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/ui/"


def _stopped() -> asyncio.Event:
    """Return the event that Ctrl-C or SIGTERM sets."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, stop.set)
    return stop


async def _until(seen: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is seen, but not for ever: it may never come."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DECIDED):
            while not await seen():  # noqa: ASYNC110 - nothing would set an event
                await asyncio.sleep(LOOK)
