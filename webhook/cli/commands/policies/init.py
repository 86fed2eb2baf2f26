"""`sluice init`: a new policy repository, with a first policy, its suite, sample queues and a CI workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.commands.policies.import_kueue import LIVE, import_from
from webhook.cli.commands.policies.import_kueue import wheel as wheel_at
from webhook.cli.option_types import FOLDER, TEXT, Read
from webhook.cli.shipped import not_in_own_source
from webhook.offline.scaffold import CI, write
from webhook.offline.scaffold.wheel import Wheel

EXAMPLES: Final = """\b
Examples:
  sluice init                    into this folder, for GitHub Actions
  sluice init policies-repo --ci gitlab
  sluice init --from-kueue live  as the Kueue of the current cluster does
  sluice init --wheel dist/sluice_gate-0.1.0-py3-none-any.whl
"""
NEXT: Final = """
next:
  sluice lint policies cluster
  sluice test
  sluice run -f jobs -c cluster --seconds 600
"""
NO_WHEEL: Final = """
CI fails until its workflow installs a Sluice wheel; see --wheel.
"""


@click.command(name="init", epilog=EXAMPLES)
@click.argument("folder", type=FOLDER, default=Path())
@click.option("--ci", type=click.Choice([*CI, "none"]), default="github", show_default=True)
@click.option(
    "--wheel",
    type=Read("path|URL", wheel_at),
    help="The wheel that CI installs Sluice from: a path (copied to .sluice/) or an https URL with #sha256=HASH.",
)
@click.option(
    "--from-kueue", type=TEXT, help="Instead of samples, what a Kueue has: `live`, or a file or folder of its objects."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def init_command(folder: Path, ci: str, wheel: Wheel | None, from_kueue: str | None, force: bool) -> None:
    """Write the files of a new policy repository into FOLDER (default: here). Existing files are kept."""
    not_in_own_source(folder)
    if from_kueue is not None:
        source = None if from_kueue == LIVE else (from_kueue,)
        sys.exit(import_from(source, (None, None), folder, ci, wheel, force=force))
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
