"""`sluice top`: queues and what waits in them, live."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from webhook.api.state_of_workload import workload_state
from webhook.cli.commands.cluster.get import read, table_of
from webhook.cli.live import listing
from webhook.cli.live.listing import Sheet
from webhook.cli.live.session import ask, cluster_options
from webhook.cli.option_types import whole
from webhook.store.objects import ObjectStore

ROWS: Final = 20
EXAMPLES: Final = """\b
Examples:
  sluice top                 until Ctrl-C
  sluice top --once          for a script
"""


@click.command(epilog=EXAMPLES)
@click.option("--every", type=whole(1, 3600, "seconds"), default=2, show_default=True, help="Seconds between looks.")
@click.option("--once", is_flag=True, help="Print one look and end.")
@cluster_options
def top(every: int, once: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Show the queues of a cluster and what waits in them, live."""
    console = Console(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False)

    async def do(store: ObjectStore) -> None:
        if once or not sys.stdout.isatty():
            console.print(await look(store, ROWS))
            return
        with Live(await look(store, console.height - 8), console=console, screen=True, auto_refresh=False) as live:
            while True:
                await asyncio.sleep(every)
                live.update(await look(store, console.height - 8), refresh=True)

    ask("top", do, kubeconfig, context)


async def look(store: ObjectStore, rows: int) -> Group:
    """Read the cluster once: the queues, under them the first of what does not run, `rows` in all.

    Raises StoreError.
    """
    now = datetime.now(UTC)
    found = await read(store, "queues", None)
    workloads = (await read(store, "workloads", None))["workloads"]
    states = [workload_state(workload)[0] for workload in workloads]
    waiting = [w for w, state in zip(workloads, states, strict=True) if state in ("Pending", "Inactive")]
    waiting.sort(key=lambda workload: str(workload["metadata"].get("creationTimestamp")))
    counts = ", ".join(f"{states.count(state)} {state.lower()}" for state in ("Admitted", "Pending", "Finished"))
    queues = listing.queues(found["queues"], found["local queues"])
    sheet = listing.workloads(waiting[: max(rows - len(queues.rows), 3)], now)
    seen = Sheet(sheet.columns, sheet.wide - {"Message"}, sheet.rows)
    head = Text(f"{now:%H:%M:%S}  {len(queues.rows)} queues; Workloads: {counts}", style="bold")
    return Group(head, Text(), table_of(queues, wide=False), Text(), table_of(seen, wide=False))
