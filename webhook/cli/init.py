"""`sluice init`: a new policy repository, with a first policy, its suite, sample queues and a CI workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.values import FOLDER
from webhook.offline.scaffold import CI, write

EXAMPLES: Final = """\b
Examples:
  sluice init                    into this folder, for GitHub Actions
  sluice init policies-repo --ci gitlab
"""
NEXT: Final = """
next:
  sluice lint policies cluster
  sluice test
"""


@click.command(name="init", epilog=EXAMPLES)
@click.argument("folder", type=FOLDER, default=Path())
@click.option("--ci", type=click.Choice([*CI, "none"]), default="github", show_default=True)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def init_command(folder: Path, ci: str, force: bool) -> None:
    """Write the files of a new policy repository into FOLDER (default: here). Files that are there stay."""
    try:
        written, kept = write(folder, ci, force=force)
    except OSError as error:
        click.echo(f"sluice init: {error.filename}: {error.strerror}", err=True)
        sys.exit(exits.BAD_INPUT)
    for path in written:
        click.echo(f"wrote {folder / path}")
    for path in kept:
        click.echo(f"kept  {folder / path} (it was there; --force writes over it)")
    if written:
        where = "" if folder == Path() else f"\nnext:\n  cd {folder}"
        click.echo(NEXT.replace("\nnext:", where) if where else NEXT, nl=False)
