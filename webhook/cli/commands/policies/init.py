"""`sluice init`: a new policy repository, with a policy, its suite, sample queues and jobs, and a CI workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.commands.policies.import_kueue import LIVE, ci_options, import_from
from webhook.cli.option_types import FOLDER, TEXT, cluster_options, force_option
from webhook.cli.shipped import not_in_own_source
from webhook.offline.scaffold import write
from webhook.offline.scaffold.wheel import Wheel

EXAMPLES: Final = """\b
Examples:
  sluice init                    into this folder, for GitHub Actions
  sluice init policies-repo --ci gitlab
  sluice init --from-kueue live  from the Kueue of the current cluster
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
@ci_options
@click.option("--from-kueue", type=TEXT, metavar="live|FILE|FOLDER",
              help="Import a Kueue setup instead of the samples, from a cluster or from files.")  # fmt: skip
@cluster_options
@force_option
def init_command(
    folder: Path,
    ci: str,
    wheel: Wheel | None,
    from_kueue: str | None,
    kubeconfig: Path | None,
    context: str | None,
    force: bool,
) -> None:
    """Write the files of a new policy repository into FOLDER (default: here). Existing files are kept."""
    not_in_own_source(folder)
    if from_kueue != LIVE and (kubeconfig or context):
        raise click.UsageError("--kubeconfig and --context require --from-kueue live")
    if from_kueue is not None:
        source = None if from_kueue == LIVE else (from_kueue,)
        sys.exit(import_from(source, (kubeconfig, context), folder, ci, wheel, force=force))
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
