"""`sluice init`: a new policy repository, with a first policy, its suite, sample queues and a CI workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.option_types import FOLDER, Read
from webhook.offline.scaffold import CI, write
from webhook.offline.scaffold.wheel import Wheel, read_wheel

EXAMPLES: Final = """\b
Examples:
  sluice init                    into this folder, for GitHub Actions
  sluice init policies-repo --ci gitlab
  sluice init --wheel dist/sluice_gate-0.1.0-py3-none-any.whl
"""
NEXT: Final = """
next:
  sluice lint policies cluster
  sluice test
"""
NO_WHEEL: Final = """
CI fails until its workflow installs a Sluice wheel; see --wheel.
"""


def read(given: str) -> Wheel:
    """Read the value of --wheel; raises ValueError."""
    try:
        return read_wheel(given)
    except OSError as error:
        raise ValueError(f"{given}: {error.strerror}") from None


@click.command(name="init", epilog=EXAMPLES)
@click.argument("folder", type=FOLDER, default=Path())
@click.option("--ci", type=click.Choice([*CI, "none"]), default="github", show_default=True)
@click.option(
    "--wheel",
    type=Read("path|URL", read),
    help="The wheel that CI installs Sluice from: a path (copied to .sluice/) or an https URL with #sha256=HASH.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def init_command(folder: Path, ci: str, wheel: Wheel | None, force: bool) -> None:
    """Write the files of a new policy repository into FOLDER (default: here). Files that are there stay."""
    try:
        written, kept = write(folder, ci, wheel, force=force)
    except OSError as error:
        click.echo(f"sluice init: {error.filename}: {error.strerror}", err=True)
        sys.exit(exits.BAD_INPUT)
    for path in written:
        click.echo(f"wrote {folder / path}")
    for path in kept:
        click.echo(f"kept  {folder / path} (already exists; use --force to overwrite)")
    if written:
        where = "" if folder == Path() else f"\nnext:\n  cd {folder}"
        click.echo(NEXT.replace("\nnext:", where) if where else NEXT, nl=False)
        if wheel is None and ci != "none":
            click.echo(NO_WHEEL, nl=False)
