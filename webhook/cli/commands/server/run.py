"""`sluice run`: the whole of Sluice on this machine, without a cluster.

Certificate, server and queue core are those of `sluice serve`, over the store in memory. Manifests are sent to the
server's own HTTPS endpoint as an API server would; what is admitted runs for its time.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from webhook.api.configuration.read import is_configuration, settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.api.conversion.convert import ConversionError, as_stored
from webhook.cli import exits, shipped
from webhook.cli.demo.arrivals import ARTICLE, jobs_of
from webhook.cli.demo.embedded import RunPlan
from webhook.cli.demo.embedded import run as run_embedded
from webhook.cli.demo.story import Story, try_next
from webhook.cli.inputs import manifests
from webhook.cli.option_types import (
    ADDRESS,
    FOLDER,
    files_option,
    number,
    objects_option,
    policies_option,
    rules_option,
)
from webhook.cli.repository import FILE, repository
from webhook.config import Config, PageMode, load
from webhook.store.errors import StoreError
from webhook.store.objects import Object
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

QUEUES: Final = "queues.yaml"
EXAMPLES: Final = """\b
Examples:
  sluice run              sample manifests, until Ctrl-C
  sluice run --once -v    the same to its end, with every field of every patch
  sluice run -f jobs -c cluster --seconds 600
"""


@click.command(epilog=EXAMPLES)
@files_option("samples")
@policies_option("those of .sluice.yaml, else all shipped ones")
@rules_option()
@objects_option("sample queues", former=["--queues"])
@click.option("--once", is_flag=True, help="Exit when every admitted job has run, instead of on Ctrl-C.")
@click.option("--listen", type=ADDRESS, default="127.0.0.1:0", show_default=True,
              help="Address of the admission server (HTTPS).")  # fmt: skip
@click.option("--ui-listen", type=ADDRESS, default="127.0.0.1:0", show_default=True, help="Address of the page.")
@click.option("--cert-dir", type=FOLDER,
              help="Folder of the certificate: tls.crt, tls.key, ca.crt.  [default: a temporary one]")  # fmt: skip
@click.option("--seconds", type=number(0, 3_600, "seconds"), default=1.0, show_default=True,
              help="Run time of jobs that do not set it.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show every object and every field of the patches.")
def run(
    files: tuple[str, ...],
    policies: tuple[Path, ...],
    rules: tuple[str, ...],
    objects: tuple[Path, ...],
    once: bool,
    listen: str,
    ui_listen: str,
    cert_dir: Path | None,
    seconds: float,
    verbose: bool,
) -> None:
    """Serve, apply manifests, and run the queues on this machine.

    Without -f, sample manifests are sent, and sample jobs keep arriving. Exit code 1: a job that was started did not
    end, or the server failed.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    paths = tuple(map(Path, files)) or tuple(sorted(p for p in shipped.samples().glob("*.yaml") if p.name != QUEUES))
    there, settings = already_there(objects or (shipped.samples() / QUEUES,))
    sent = [(path, manifests(path)) for path in paths]
    given = {"-f": paths if files else (), "-p": policies, "-c": objects}
    first = paths[0] if files else next(path for path in paths if path.stem == ARTICLE)
    following = try_next(first, {option: named for option, named in given.items() if named})
    arriving = [] if files else jobs_of(obj for path, found in sent if path.stem == ARTICLE for obj in found)
    plan = RunPlan(there, sent, arriving, seconds, once=once, verbose=verbose)
    story = Story(len(paths), following, arriving=bool(arriving))
    config = _in_force(policies, rules)
    config = replace(config, listen=listen, ui_listen=ui_listen, queues=settings or config.queues)
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-") as made:  # others may not look into it
            config = replace(config, cert_dir=Path(cert_dir or made).resolve())
            ensure(Folder(config.cert_dir), ("localhost", "127.0.0.1"), datetime.now(UTC))
            sys.exit(asyncio.run(run_embedded(config, plan, story)))
    except BrokenPipeError:  # the reader of the output is gone
        raise
    except (OSError, ValueError, StoreError) as error:
        click.echo(f"sluice run: {error}", err=True)
        sys.exit(exits.BAD_INPUT)


def already_there(paths: Iterable[Path]) -> tuple[list[Object], QueueSettings | None]:
    """Read what is there before anything is sent: objects as stored, and the settings of a Configuration among them."""
    found = [(path, obj) for path in paths for obj in manifests(path)]
    objects = [(path, obj) for path, obj in found if not is_configuration(obj)]
    for path, obj in objects:
        if not (obj.get("metadata") or {}).get("name"):
            raise click.UsageError(f"{path}: a {obj['kind']} has no metadata.name")
    return [_as_stored(path, obj) for path, obj in objects], settings_among(obj for _, obj in found)


def _as_stored(path: Path, obj: Object) -> Object:
    try:
        return as_stored(obj)
    except ConversionError as error:
        raise click.UsageError(f"{path}: {error}") from None


def _in_force(policies: tuple[Path, ...], rules: tuple[str, ...]) -> Config:
    """Return a configuration for this machine: policies, queue rules and features are those of all commands.

    Where neither options nor `.sluice.yaml` name policies, all that are shipped are in force. Raises SourceError.
    """
    said = FILE.is_file()
    within = repository(policies, rules)
    chosen = within.policies if policies or said else (shipped.policies(),)
    features = load(FILE, {}, {}) if said else Config()
    return Config(
        policies=tuple(path.resolve() for path in chosen),
        queue_rules=within.rules,
        queues=features.queues,
        refuse_impossible=features.refuse_impossible,
        cluster=False,
        leader_election=False,
        ui=PageMode.READ_ONLY,
    )
