"""`sluice top`: queues and what is pending in them, live. All is listed once; from then on changes are watched."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from webhook.api.state_of_workload import workload_state
from webhook.cli.commands.cluster.get import in_columns, table_of
from webhook.cli.console import Console
from webhook.cli.live import listing
from webhook.cli.live.listing import Sheet
from webhook.cli.live.session import ask, served
from webhook.cli.option_types import cluster_options, whole
from webhook.cli.terminal_text import visible
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.store.errors import Unavailable
from webhook.store.informer import Informer
from webhook.store.objects import Object, ObjectStore

ROWS: Final = 20
OF_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "ownerReferences")
OF_SPEC: Final = ("queueName", "active", "priority")
OF_STATUS: Final = ("conditions", "admission")
EXAMPLES: Final = """\b
Examples:
  sluice top                 until Ctrl-C
  sluice top --once          for a script
"""


@click.command(epilog=EXAMPLES)
@click.option("--every", type=whole(1, 3600, "seconds"), default=2, show_default=True,
              help="Refresh interval in seconds.")  # fmt: skip
@click.option("--once", is_flag=True, help="Print once and exit.")
@cluster_options
def top(every: int, once: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Show the queues of a cluster and what is pending in them, live.

    Exit code 2: the cluster cannot be read.
    """
    console, on_screen = Console(markup=False, highlight=False), sys.stdout.isatty()
    logging.getLogger("webhook").addHandler(logging.NullHandler())  # what a watch has to say is on the screen

    async def do(store: ObjectStore) -> None:
        seen = [Informer(CLUSTER_QUEUE), Informer(LOCAL_QUEUE), Informer(WORKLOAD, trim=shown)]
        tasks = [asyncio.create_task(_follow(informer, store)) for informer in seen if await _served(informer, store)]
        try:
            await _listed(seen)
            if not on_screen:
                click.echo("\n".join(lines(top_view(seen, ROWS))))
            elif once:
                console.print(screen(top_view(seen, ROWS)))
            else:
                await _show(console, seen, every)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    ask("top", do, kubeconfig, context)


async def _follow(informer: Informer, store: ObjectStore) -> None:
    while True:  # a CRD that is being written is not found for a moment
        await informer.follow(store)


async def _served(informer: Informer, store: ObjectStore) -> bool:
    """Return whether the cluster serves a kind, and take the version that it serves. Raises StoreError."""
    gvk = await served(store, informer.gvk)
    if gvk is None:
        informer.synced.set()
        return False
    informer.gvk = gvk
    return True


async def _listed(informers: Sequence[Informer]) -> None:
    """Wait until everything was listed. Raises Unavailable with what is in the way."""
    while not all(informer.synced.is_set() for informer in informers):
        if problem := next((informer.problem for informer in informers if informer.problem), ""):
            raise Unavailable(problem)
        await asyncio.sleep(0.05)


async def _show(console: Console, informers: Sequence[Informer], every: int) -> None:
    with Live(
        screen(top_view(informers, console.height - 8)), console=console, screen=True, auto_refresh=False
    ) as live:
        while True:
            await asyncio.sleep(every)
            live.update(screen(top_view(informers, console.height - 8)), refresh=True)


def shown(workload: Object) -> Object:
    """Return what is shown of a Workload: most of one is the template of its pods."""
    kept = {
        part: {field: value for field in fields if (value := (workload.get(part) or {}).get(field)) is not None}
        for part, fields in (("metadata", OF_METADATA), ("spec", OF_SPEC), ("status", OF_STATUS))
    }
    return {"apiVersion": workload.get("apiVersion"), "kind": workload.get("kind"), **kept}


@dataclass(frozen=True, slots=True)
class TopView:
    """What is seen at one time: a line of counts, what is not up to date, the queues, what does not run."""

    counts: str
    problems: Sequence[str]
    sheets: tuple[Sheet, Sheet]


def top_view(informers: Sequence[Informer], rows: int) -> TopView:
    """Return the queues, and the first of what does not run, `rows` in all."""
    now = datetime.now(UTC)
    queues = listing.queues(informers[0].all(), informers[1].all())
    states = [(workload_state(workload)[0], workload) for workload in informers[2].all()]
    waiting = [workload for state, workload in states if state in ("Pending", "Inactive")]
    waiting.sort(key=lambda workload: str(workload["metadata"].get("creationTimestamp")))
    names = [state for state, _ in states]
    counts = ", ".join(f"{names.count(state)} {state.lower()}" for state in ("Admitted", "Pending", "Finished"))
    sheet = listing.workloads(waiting[: max(rows - len(queues.rows), 3)], now)
    seen = Sheet(sheet.columns, sheet.wide - {"Message"}, sheet.rows)
    problems = [visible(f"not up to date: {informer.problem}") for informer in informers if informer.problem]
    return TopView(f"{now:%H:%M:%S}  queues: {len(queues.rows)}; Workloads: {counts}", problems, (queues, seen))


def screen(seen: TopView) -> Group:
    """Return a view for a terminal, whose width long cells are folded to."""
    head = [Text(seen.counts, style="bold"), *(Text(problem, style="red") for problem in seen.problems)]
    return Group(*head, *(part for sheet in seen.sheets for part in (Text(), table_of(sheet, wide=False))))


def lines(seen: TopView) -> Iterator[str]:
    """Yield a view for a script: a line for each row, however long."""
    yield from (seen.counts, *seen.problems)
    for sheet in seen.sheets:
        yield ""
        yield from in_columns(sheet, wide=False)
