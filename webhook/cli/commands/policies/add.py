"""`sluice add`: copy policies of the library into this repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
import orjson
from rich.table import Table

from webhook.cli import exits
from webhook.cli.completions import library_policies
from webhook.cli.console import Console
from webhook.cli.option_types import Read, force_option, output_option, to_option
from webhook.cli.repository import FILE, POLICIES, repository
from webhook.cli.shipped import not_in_own_source
from webhook.diagnostics import did_you_mean
from webhook.offline.scaffold.library import LibraryPolicy, copy_policy, described, library
from webhook.policy.loading.shipped import is_shipped, library_names

EXAMPLES: Final = """\b
Examples:
  sluice add --list                     the policies of the library
  sluice add whole-nodes                into policies/whole-nodes
  sluice add readiness-probes replicas --to policies/serving
"""


def known(name: str) -> str:
    """Read the name of a policy of the library; raises ValueError."""
    if name in library_names():
        return name
    hint = did_you_mean(name, library_names()) or "`sluice add --list` shows the policies of the library"
    raise ValueError(f'no policy "{name}" in the library; {hint}')


@click.command(name="add", epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]...", type=Read("name", known), shell_complete=library_policies)
@click.option("--list", "listing", is_flag=True, help="Show the policies of the library.")
@output_option("text", "json")
@to_option(None, "the first folder of .sluice.yaml, else policies", former=())
@force_option
def add_command(names: tuple[str, ...], listing: bool, output: str, folder: Path | None, force: bool) -> None:
    """Copy policies of the library, with their tests, into this repository. Existing files are kept.

    Exit code 0: files were written, 2: no such policy, 3: all files exist already.
    """
    if listing:
        _show(library(), output)
        return
    if not names:
        raise click.UsageError("no policy given; `sluice add --list` shows the policies of the library")
    folder = folder or _folder()
    not_in_own_source(folder)
    copies = [copy_policy(name, folder, force=force) for name in dict.fromkeys(names)]
    for path in (path for copied in copies for path in copied.written):
        click.echo(f"wrote {path}")
    for path in (path for copied in copies for path in copied.kept):
        click.echo(f"kept  {path} (already exists; use --force to overwrite)")
    if not any(copied.written for copied in copies):
        sys.exit(exits.NOTHING_TO_RUN)
    _next([described(name) for name in dict.fromkeys(names)], folder)


def _folder() -> Path:
    """Return the folder of the repository's own policies."""
    return next((path for path in repository().policies if path.is_dir() and not is_shipped(path)), POLICIES[0])


def _next(added: Sequence[LibraryPolicy], folder: Path) -> None:
    """Print what is left to do: parameters, queue rules, and the test."""
    click.echo("\nnext:")
    for policy in added:
        if policy.parameters:
            file = folder / policy.name / "policy.yaml"
            click.echo(f"  set the parameters in {file}: {', '.join(policy.parameters)}")
    if rules := [policy.name for policy in added if policy.is_queue_rule]:
        click.echo(f"  add to queueRules in {FILE}: {', '.join(rules)}")
    click.echo(f"  sluice test {' '.join(str(folder / policy.name) for policy in added)}")


def _show(policies: Sequence[LibraryPolicy], output: str) -> None:
    if output == "json":
        click.echo(orjson.dumps([asdict(policy) for policy in policies], option=orjson.OPT_INDENT_2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("Name", "Kind", "What it does"):
        table.add_column(column, overflow="fold", no_wrap=column != "What it does")
    for policy in policies:
        table.add_row(policy.name, policy.kind, policy.docs.replace("`", ""))
    Console(width=None if sys.stdout.isatty() else 240, markup=False, highlight=False).print(table)
