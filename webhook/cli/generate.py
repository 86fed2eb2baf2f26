"""`sluice generate`: files made from policies. `native`: policies of the API server itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from webhook import documents
from webhook.cli import exits
from webhook.offline.files import read_files
from webhook.offline.native import twins
from webhook.policy.load import load_bundle
from webhook.policy.slices import entries

EXAMPLES: Final = """\b
Examples:
  sluice generate native policies > native.yaml
  sluice generate native policies | kubectl apply --dry-run=server -f -
"""


@click.group(name="generate")
def generate_command() -> None:
    """Make files from policies."""


@generate_command.command(name="native", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def native(paths: tuple[Path, ...]) -> None:
    """Write native twins of the policies in PATHS (default: policies), expanded by kind, as YAML.

    A cluster keeps them as a floor while the webhook is away. What has no native form is said on standard error.
    Exit code 2: a file cannot be used, 3: nothing has a native form.
    """
    places = paths or (Path("policies"),)
    bundle = load_bundle(places)
    values = (e.value for d in read_files(places).documents for e in entries(d))
    bindings = [v for v in values if isinstance(v, dict) and str(v.get("kind")).endswith("PolicyBinding")]
    made = twins(bundle, bindings)
    for name, reason in made.left_out:
        click.echo(f"left out: {name}: {reason}", err=True)
    if not made.objects:
        click.echo("sluice generate native: nothing has a native form", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    click.echo("---\n".join(documents.dump(obj) for obj in made.objects), nl=False)
