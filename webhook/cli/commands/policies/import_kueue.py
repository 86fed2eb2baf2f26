"""`sluice import kueue`: a cluster's Kueue, live or in files, as a repository that does the same."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.inputs import Inputs
from webhook.cli.live.session import cluster_options
from webhook.cli.option_types import FOLDER, INPUT, Read
from webhook.cli.shipped import not_in_own_source
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.offline.importing.kueue import CONFIGURATION, KueueSetup, from_kueue
from webhook.offline.scaffold import CI, write_files
from webhook.offline.scaffold.kueue import repository_files
from webhook.offline.scaffold.wheel import Wheel, read_wheel
from webhook.policy.loading.list_items import entries
from webhook.store.errors import StoreError

EXAMPLES: Final = """\b
Examples:
  sluice import kueue --live -o gpu-policies
  kubectl get -A -o yaml cq,lq,rf,cohorts,namespaces > kueue.yaml
  sluice import kueue kueue.yaml manager-config.yaml -o gpu-policies
"""
LIVE: Final = "live"
NO_CONFIGURATION: Final = (
    "no Configuration of Kueue among the objects: features of the queues have Sluice's defaults\n"
    "  (add the ConfigMap kueue-manager-config, or its file)"
)


def wheel(given: str) -> Wheel:
    """Read the value of --wheel; raises ValueError."""
    try:
        return read_wheel(given)
    except OSError as error:
        raise ValueError(f"{given}: {error.strerror}") from None


@click.command(name="kueue", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=INPUT)
@click.option("--live", "cluster", is_flag=True, help="Read the objects from a live cluster. Read-only.")
@cluster_options
@click.option(
    "-o", "--output", "folder", type=FOLDER, default=Path(), help="The folder of the repository.  [default: here]"
)
@click.option("--ci", type=click.Choice([*CI, "none"]), default="github", show_default=True, help="CI system.")
@click.option("--wheel", "wheel_", type=Read("path|URL", wheel), help="The wheel that CI installs Sluice from.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def kueue(
    paths: tuple[str, ...],
    folder: Path,
    ci: str,
    wheel_: Wheel | None,
    kubeconfig: Path | None,
    context: str | None,
    *,
    cluster: bool,
    force: bool,
) -> None:
    """Write the repository that does what a cluster's Kueue does: queues, settings, queue rules, policies, a suite, CI.

    Reads what `kubectl get -o yaml` prints, and Kueue's Configuration or ConfigMap. Existing files stay.

    Exit code 0: all went over, 1: some did not, each with its reason, 2: a file cannot be used, 3: no Kueue.
    """
    if cluster == bool(paths):
        raise click.UsageError("give either PATHS or --live")
    if not cluster and (kubeconfig or context):
        raise click.UsageError("--kubeconfig and --context require --live")
    source = None if cluster else paths
    sys.exit(import_from(source, (kubeconfig, context), folder, ci, wheel_, force=force))


def import_from(
    paths: Sequence[str] | None,
    live: tuple[Path | None, str | None],
    folder: Path,
    ci: str,
    found_wheel: Wheel | None,
    *,
    force: bool,
) -> int:
    """Read files (None: a live cluster), write the repository, tell of it, and give the exit code."""
    not_in_own_source(folder)
    try:
        setup = from_kueue(_documents(paths, live))
        files = repository_files(setup, ci, found_wheel)
    except (SourceError, StoreError, ValueError, OSError) as error:
        click.echo(error.render() if isinstance(error, SourceError) else f"sluice import kueue: {error}", err=True)
        return exits.BAD_INPUT
    if not setup.files:
        click.echo("sluice import kueue: no queues and no Configuration of Kueue in these objects", err=True)
        return exits.NOTHING_TO_RUN
    try:
        written, kept = write_files(folder, files, force=force)
    except OSError as error:
        click.echo(f"sluice import kueue: {error.filename}: {error.strerror}", err=True)
        return exits.BAD_INPUT
    _tell(setup, folder, written)
    for path in kept:
        click.echo(f"{folder / path}: kept: it exists already; use --force to overwrite", err=True)
    return exits.BAD_INPUT if kept else exits.FAILED if setup.told else exits.PASSED


def _documents(paths: Sequence[str] | None, live: tuple[Path | None, str | None]) -> list[Document]:
    """Read the documents, those of Lists one by one. The Kubernetes client is loaded for a live cluster alone."""
    if paths is None:
        found: list[Document] = importlib.import_module("webhook.cli.live.kueue_setup").documents(*live)
        return found
    return [entry for whole in Inputs(paths).documents() for entry in entries(whole)]


def _tell(setup: KueueSetup, folder: Path, written: Sequence[str]) -> None:
    for note in setup.told:
        click.echo(str(note))
    if CONFIGURATION not in setup.files:
        click.echo(NO_CONFIGURATION)
    for path in written:
        click.echo(f"wrote {folder / path}")
    where = f"  cd {folder}\n" if folder != Path() else ""
    click.echo(f"\nnext:\n{where}  sluice lint policies cluster\n  sluice test\n  sluice plan -f cluster -f JOBS")
