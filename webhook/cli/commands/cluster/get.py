"""`sluice get`: the queues, Workloads and flavors of a cluster, with their usage."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import orjson
from rich.table import Table

from webhook.cli import exits
from webhook.cli.console import Console
from webhook.cli.live import listing
from webhook.cli.live.listing import Sheet
from webhook.cli.live.session import ask, listed, namespace_of, namespace_option
from webhook.cli.option_types import TEXT, Words, cluster_options, output_option
from webhook.cli.terminal_text import visible
from webhook.cluster.api.kinds import CLUSTER_QUEUE, COHORT, FLAVOR, LOCAL_QUEUE, WORKLOAD
from webhook.documents import dump
from webhook.store.objects import Object, ObjectStore

EXAMPLES: Final = """\b
Examples:
  sluice get queues                    quota, usage, and what is pending
  sluice get workloads -A -o wide      all Workloads, and why they are pending
  sluice get flavors -o yaml
"""
FOLDED: Final = 1_000
"""So many rows are laid out for the width of a terminal; rich takes half a second for them."""
WHAT: Final = {"queues": CLUSTER_QUEUE, "workloads": WORKLOAD, "flavors": FLAVOR}


@click.command(epilog=EXAMPLES)
@click.argument("what", type=Words(WHAT))
@click.argument("names", type=TEXT, nargs=-1, metavar="[NAME]...")
@namespace_option
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Workloads of all namespaces.")
@output_option("text", "wide", "json", "yaml", "name")
@cluster_options
def get(
    what: str,
    names: tuple[str, ...],
    namespace: str | None,
    everywhere: bool,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Show queues, Workloads or flavors of a cluster.

    Exit code 2: the cluster cannot be read, or an object does not exist.
    """
    inside = None if everywhere or what != "workloads" else namespace or namespace_of(kubeconfig, context)
    found = ask("get", lambda store: read(store, what, inside), kubeconfig, context)
    chosen = [obj for obj in found[what] if not names or obj["metadata"]["name"] in names]
    known = {obj["metadata"]["name"] for obj in chosen}
    if missing := [name for name in names if name not in known]:
        click.echo(f"sluice get: no {what} named {', '.join(missing)}", err=True)
        sys.exit(exits.BAD_INPUT)
    if output in ("text", "wide"):
        show(sheet_of(what, {**found, what: chosen}), wide=output == "wide")
    else:
        click.echo(written(chosen, output), nl=False)


async def read(store: ObjectStore, what: str, namespace: str | None) -> dict[str, list[Object]]:
    """Read what a sheet is made of. Raises StoreError."""
    found = {what: await listed(store, WHAT[what], namespace)}
    if what == "queues":
        found["local queues"] = await listed(store, LOCAL_QUEUE)
    if what == "flavors":
        found["queues"] = await listed(store, CLUSTER_QUEUE)
        found["cohorts"] = await listed(store, COHORT)
    return found


def sheet_of(what: str, found: dict[str, list[Object]]) -> Sheet:
    """Make the rows."""
    if what == "queues":
        return listing.queues(found["queues"], found["local queues"])
    if what == "flavors":
        return listing.flavors(found["flavors"], found["queues"], found["cohorts"])
    return listing.workloads(found["workloads"], datetime.now(UTC))


def cells(sheet: Sheet, *, wide: bool) -> list[list[str]]:
    """Return what is shown of a sheet: its columns, then its rows."""
    shown = [n for n, column in enumerate(sheet.columns) if wide or column not in sheet.wide]
    return [[visible(row[n]) for n in shown] for row in (sheet.columns, *sheet.rows)]


def table_of(sheet: Sheet, *, wide: bool) -> Table:
    """Return a sheet as a table without lines, as kubectl's."""
    columns, *rows = cells(sheet, wide=wide)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def show(sheet: Sheet, *, wide: bool) -> None:
    """Print a sheet; say so where it has no rows."""
    if not sheet.rows:
        click.echo("none found", err=True)
        return
    if sys.stdout.isatty() and len(sheet.rows) <= FOLDED:
        Console(markup=False, highlight=False).print(table_of(sheet, wide=wide))
    else:
        click.echo("\n".join(in_columns(sheet, wide=wide)))


def in_columns(sheet: Sheet, *, wide: bool) -> Iterator[str]:
    """Yield a line for each row, however long: for a script, and for more rows than people read."""
    rows = [[cell.replace("\n", " ") for cell in row] for row in cells(sheet, wide=wide)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def written(objects: Sequence[Object], output: str) -> str:
    """Return objects as JSON, YAML or names."""
    if output == "name":
        return "".join(f"{obj['kind'].lower()}.kueue.x-k8s.io/{obj['metadata']['name']}\n" for obj in objects)
    items: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return dump(items) if output == "yaml" else orjson.dumps(items, option=orjson.OPT_INDENT_2).decode() + "\n"
