"""`sluice import kueue`: a cluster's Kueue, live or in files, as a policy repository that does the same."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.inputs import AROUND_KINDS, QUEUE_KINDS, Inputs
from webhook.cli.option_types import INPUT, Read, Words, force_option, live_options, not_live, to_option
from webhook.cli.shipped import not_in_own_source
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.offline.importing.kueue import CONFIGURATION, KueueSetup, from_kueue
from webhook.offline.scaffold import CI, write_files
from webhook.offline.scaffold.kueue import repository_files
from webhook.offline.scaffold.wheel import Wheel, read_wheel
from webhook.offline.unreadable_objects import readable
from webhook.policy.loading.list_items import entries
from webhook.store.errors import StoreError

EXAMPLES: Final = f"""\b
Examples:
  sluice import kueue --live --to gpu-policies
  kubectl get {QUEUE_KINDS} -A -oyaml > k.yaml
  kubectl get {AROUND_KINDS} -A -oyaml > around.yaml
  sluice import kueue k.yaml around.yaml manager-config.yaml --to gpu-policies
"""
LIVE: Final = "live"
NO_CONFIGURATION: Final = (
    "no Configuration of Kueue among the objects: queue features have Sluice's defaults\n"
    "  (add the ConfigMap kueue-manager-config, or its file)"
)


def wheel_at(given: str) -> Wheel:
    """Read the value of --wheel; raises ValueError."""
    try:
        return read_wheel(given)
    except OSError as error:
        raise ValueError(f"{given}: {error.strerror}") from None


def ci_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--ci` and `--wheel`: what runs the repository's tests, and with which Sluice."""
    told = "Wheel that CI installs Sluice from: a path (copied to .sluice/) or an https URL with #sha256=HASH."
    command = click.option("--wheel", type=Read("path|URL", wheel_at), help=told)(command)
    return click.option("--ci", type=Words([*CI, "none"]), default="github", show_default=True, help="CI system.")(
        command
    )


@click.command(name="kueue", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=INPUT)
@live_options
@to_option(Path(), "this folder")
@ci_options
@force_option
def kueue(
    paths: tuple[str, ...],
    folder: Path,
    ci: str,
    wheel: Wheel | None,
    kubeconfig: Path | None,
    context: str | None,
    *,
    live: bool,
    force: bool,
) -> None:
    """Create a policy repository from a cluster's Kueue: queues, settings, queue rules, policies, a suite and CI.

    Reads the output of `kubectl get -o yaml`, and Kueue's Configuration or ConfigMap. Existing files are kept.

    Exit code 0: all was imported, 1: some was not, with reasons, 2: a file cannot be used, 3: no Kueue.
    """
    if live == bool(paths):
        raise click.UsageError("give either PATHS or --live")
    not_live(live=live, kubeconfig=kubeconfig, context=context)
    source = None if live else paths
    sys.exit(import_from(source, (kubeconfig, context), folder, ci, wheel, force=force))


def import_from(
    paths: Sequence[str] | None,
    live: tuple[Path | None, str | None],
    folder: Path,
    ci: str,
    found_wheel: Wheel | None,
    *,
    force: bool,
) -> int:
    """Read files (None: a live cluster), write the repository, print what was done, and give the exit code."""
    not_in_own_source(folder)
    try:
        given = _documents(paths, live)
        with readable(lambda: given):
            setup = from_kueue(given)
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
        click.echo(f"kept  {folder / path} (already exists; use --force to overwrite)", err=True)
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
