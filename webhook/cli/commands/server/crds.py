"""`sluice crds`: the CRDs of the queue's objects, or JSON Schemas for editors, of QueuePolicy as well."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from webhook.api.crds.definitions import Webhook, definitions, top_level
from webhook.api.crds.kinds import FILE_KINDS, KINDS, CustomKind
from webhook.api.crds.schema import editor_schema
from webhook.cli import completions, exits
from webhook.cli.inputs import certificates
from webhook.cli.live.session import ask
from webhook.cli.option_types import (
    TEXT,
    ca_file_option,
    cluster_options,
    dry_run_option,
    output_option,
    service_option,
    to_option,
    url_option,
)
from webhook.cluster.webhooks.crds import ApplyResult, apply, migrate
from webhook.diagnostics import did_you_mean
from webhook.documents import dump

SERVICE = "sluice-system/sluice:443"
HEADER = "# Made by `sluice crds`; change the types in webhook/api/, not this file.\n"

EXAMPLES: Final = """\b
Examples:
  sluice crds --ca-file ca.crt | kubectl apply --server-side -f -
  sluice crds --no-conversion --kind ClusterQueue
  sluice crds --json-schema --kind Workload
  sluice crds --apply               create or upgrade them in the cluster
  sluice crds --apply --current-only Workload  serve Workloads as v1beta2 only
  sluice crds --take-over --dry-run  show what would be done
  sluice crds --take-over --migrate  after Kueue is removed
"""


@click.command(epilog=EXAMPLES)
@output_option("yaml", "json")
@click.option("--kind", "only", multiple=True, type=TEXT, metavar="KIND", shell_complete=completions.crd_kinds,
              help="Only this kind. Can be repeated.  [default: all kinds]")  # fmt: skip
@url_option
@service_option(SERVICE)
@ca_file_option
@click.option("--current-only", multiple=True, type=TEXT, metavar="KIND", shell_complete=completions.crd_kinds,
              help="Do not serve v1beta1 of this kind: its changes are not converted. Can be repeated.")  # fmt: skip
@click.option("--no-conversion", is_flag=True, help="Serve only the stored version; no webhook needed.")
@click.option("--json-schema", is_flag=True, help="Print JSON Schemas for editors.")
@to_option(None, "standard output", former=["--write"])
@click.option(
    "--apply", "applying", is_flag=True, help="Apply the CRDs to the cluster; those of an installed Kueue are kept."
)
@click.option(
    "--take-over",
    "taking_over",
    is_flag=True,
    help="Apply the CRDs and take over those of an installed Kueue; its objects are kept.",
)
@click.option("--migrate", "migrating", is_flag=True, help="Store all objects in the current version.")
@dry_run_option
@cluster_options
def crds(
    output: str,
    only: tuple[str, ...],
    url: str | None,
    service: tuple[str, str, int],
    ca_file: Path | None,
    current_only: tuple[str, ...],
    *,
    no_conversion: bool,
    json_schema: bool,
    folder: Path | None,
    applying: bool,
    taking_over: bool,
    migrating: bool,
    dry_run: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Print or install the CRDs of the queue's objects.

    Objects are stored as v1beta2; v1beta1 is served as well, converted by Sluice at `/convert` of --service or --url.
    With --to, each CRD is written to a file of its own.
    """
    among = (*KINDS, *FILE_KINDS) if json_schema else KINDS
    kinds = _chosen(only, among, "--kind") if only else list(among)
    unserved = [kind.kind for kind in _chosen(current_only, KINDS, "--current-only")]
    if json_schema:
        click.echo(json.dumps({k.kind: _editor(k) for k in kinds}, indent=2))
        return
    webhook = None if no_conversion else _webhook(url, service, ca_file)
    made = definitions(webhook, kinds, unserved)
    if migrating and dry_run:
        raise click.UsageError("--migrate has no dry run")
    if applying or taking_over:
        note = "  (dry run)" if dry_run else ""
        change = partial(apply, definitions=made, take_over=taking_over, dry_run=dry_run)
        _print_results(ask("crds", change, kubeconfig, context), note)
    if migrating:
        _print_results(ask("crds", migrate, kubeconfig, context))
    if applying or taking_over or migrating:
        return
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for crd in made:
            (folder / f"{crd['metadata']['name']}.yaml").write_text(as_file(crd))
        click.echo(f"{len(made)} files written to {folder}")
    elif output == "json":
        click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}, indent=2))
    else:
        click.echo("---\n".join(dump(crd) for crd in made), nl=False)


def _print_results(results: Sequence[ApplyResult], note: str = "") -> None:
    """Print what became of each CRD, and end with 1 where something has to be done again."""
    for outcome in results:
        click.echo(f"{outcome.name}: {outcome.told}{note}")
    if any(outcome.failed for outcome in results):
        sys.exit(exits.FAILED)


def as_file(crd: dict[str, Any]) -> str:
    """Return a CRD as the text of its file in the chart."""
    return HEADER + dump(crd)


def _chosen(names: tuple[str, ...], among: tuple[CustomKind, ...], option: str) -> list[CustomKind]:
    known = {k.kind.lower(): k for k in among} | {k.plural: k for k in among} | {s: k for k in among for s in k.short}
    for name in names:
        if name.lower() not in known:
            kinds = [kind.kind for kind in among]
            hint = did_you_mean(name, [*kinds, *known]) or f"use one of {', '.join(kinds)}"
            raise click.BadParameter(f'no such kind "{name}"; {hint}', param_hint=option)
    wanted = {known[name.lower()].kind for name in names}
    return [k for k in among if k.kind in wanted]


def _webhook(url: str | None, service: tuple[str, str, int], ca_file: Path | None) -> Webhook:
    ca = base64.b64encode(certificates(ca_file)).decode() if ca_file else ""
    namespace, name, port = service
    return Webhook(url or "", name, namespace, port, ca)


def _editor(kind: CustomKind) -> dict[str, Any]:
    version = kind.versions[0]
    return editor_schema(kind.group, version.name, kind.kind, top_level(version.type))
