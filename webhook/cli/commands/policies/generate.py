"""`sluice generate`: files made from policies. `native`: policies of the API server itself. `schema`: for editors."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from webhook import documents
from webhook.cli import completions, exits
from webhook.cli.option_types import GIVEN, TEXT
from webhook.cli.repository import repository
from webhook.diagnostics import did_you_mean
from webhook.offline.files import read_files
from webhook.offline.native_policies.generate import native_policies
from webhook.offline.reference.json_schema import of_files, of_kind, of_kinds
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import load_bundle

EXAMPLES: Final = """\b
Examples:
  sluice generate native policies > native.yaml
  sluice generate native policies | kubectl apply --dry-run=server -f -
"""
SCHEMA_EXAMPLES: Final = """\b
Examples:
  mkdir -p .sluice
  sluice generate schema > .sluice/schema.json
    first line of policies/NAME/policy.yaml, relative to this file:
    # yaml-language-server: $schema=../../.sluice/schema.json
  sluice generate schema --kind Suite
"""


@click.group(name="generate", epilog=EXAMPLES)
def generate_command() -> None:
    """Generate native policies or JSON Schemas."""


@generate_command.command(name="native", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=GIVEN)
def native(paths: tuple[Path, ...]) -> None:
    """Write the policies in PATHS as native policies of the API server, expanded by kind, as YAML.

    They still apply while the webhook is unavailable. Parameters in the files are written too. Policies without a
    native form are listed on standard error. Default PATHS: those of .sluice.yaml, else policies.

    Exit code 2: a file cannot be used, 3: no policy has a native form.
    """
    places = repository(paths).policies
    bundle = load_bundle(places)
    values = (e.value for d in read_files(places).documents for e in entries(d))
    bindings = [v for v in values if isinstance(v, dict) and str(v.get("kind")).endswith("PolicyBinding")]
    made = native_policies(bundle, bindings, time.time())
    for line in _left_out(made.left_out):
        click.echo(line, err=True)
    if not made.objects:
        click.echo("sluice generate native: no policy has a native form", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    click.echo("---\n".join(documents.dump(obj) for obj in made.objects), nl=False)


def _left_out(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield which policies have no native form, a line for each policy and reason."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for title, reason in rows:
        policy, _, kind = title.partition(" for ")
        kinds.setdefault((policy, reason), []).extend([kind] if kind else [])
    for (policy, reason), found in kinds.items():
        yield f"skipped: {policy}{' for ' if found else ''}{', '.join(found)}: {reason}"


@generate_command.command(name="schema", epilog=SCHEMA_EXAMPLES)
@click.option("--kind", type=TEXT, metavar="KIND", shell_complete=completions.schema_kinds,
              help="Only this kind.  [default: all kinds]")  # fmt: skip
def schema(kind: str | None) -> None:
    """Print the JSON Schema of policy, suite and queue files, for completion and validation in editors.

    It covers YAML files with objects of any kind, distinguished by apiVersion and kind.
    """
    found = of_files() if kind is None else of_kind(kind)
    if found is None:
        known = sorted({name for _, name in of_kinds()})
        hint = did_you_mean(kind or "", known) or f"use one of {', '.join(known)}"
        raise click.BadParameter(f'no such kind "{kind}"; {hint}', param_hint="--kind")
    click.echo(json.dumps(found, indent=1, ensure_ascii=False))
