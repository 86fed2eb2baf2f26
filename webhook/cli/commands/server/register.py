"""`sluice register`: tell the API server what to send to the webhooks, or delete that."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from webhook import documents, setting_values
from webhook.cli import exits
from webhook.cli.inputs import certificates
from webhook.cli.live.session import ask
from webhook.cli.option_types import (
    LABEL,
    LABELS,
    Read,
    Renamed,
    Words,
    ca_file_option,
    cluster_options,
    policies_option,
    service_option,
    url_option,
    whole,
)
from webhook.cluster.api.live_store import LiveStore
from webhook.cluster.webhooks import configurations
from webhook.cluster.webhooks.configurations import Options, WebhookEndpoint
from webhook.cluster.webhooks.keep_registered import registered
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.config import QueueMode
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.webhook_rules import registration as webhooks

LOOK: Final = 0.5
"""Seconds between two looks at what is registered."""
EXAMPLES: Final = """\b
Examples:
  sluice register -p policies --ca-file ca.crt --print    show only
  sluice register -p policies --url https://HOST:9443 --ca-file ca.crt
  sluice register --ca-file ca.crt           keep the rules, change the CA
  sluice register --remove
"""


@click.command(epilog=EXAMPLES)
@policies_option("none")
@url_option
@service_option("sluice-system/sluice:443")
@ca_file_option
@click.option("--namespace-selector", type=LABELS,
              help="Labels of the namespaces whose objects are reviewed.  "
                   "[default: as registered, else sluice.dev/managed=true]")  # fmt: skip
@click.option("--never", multiple=True, type=LABEL, metavar="NAMESPACE",
              help="Namespace to exclude, besides kube-system and Sluice's own. Can be repeated.  "
                   "[default: as registered]")  # fmt: skip
@click.option("--mode", type=Words([m.value for m in QueueMode]), default="embedded", show_default=True,
              help="Who runs the queues: Sluice, an external Kueue, or none.")  # fmt: skip
@click.option("--release", "name", cls=Renamed, former=["--name"], type=LABEL, default="sluice", show_default=True,
              help="Name of the Service and of the webhook configurations.")  # fmt: skip
@click.option("--timeout", type=whole(1, 30, "seconds"), metavar="SECONDS",
              help="Timeout of a webhook call, in seconds.  [default: as registered, else 5]")  # fmt: skip
@click.option("--cert-manager", type=Read("namespace/name", setting_values.named),
              help="Certificate whose CA cert-manager injects.")  # fmt: skip
@click.option("--public-ca", is_flag=True, help="Write no caBundle: a public authority signed the certificate.")
@cluster_options
@click.option("--wait", "seconds", type=whole(1, 3600, "seconds"), metavar="SECONDS",
              help="Wait at most SECONDS for the leader to register the rules that its policies need.")  # fmt: skip
@click.option("--print", "printing", is_flag=True, help="Print the configurations; write nothing.")
@click.option("--remove", "removing", is_flag=True, help="Delete the configurations.")
def register(
    policies: tuple[Path, ...],
    url: str | None,
    service: tuple[str, str, int],
    ca_file: Path | None,
    namespace_selector: dict[str, str] | None,
    never: tuple[str, ...],
    mode: str,
    name: str,
    timeout: int | None,
    cert_manager: str | None,
    public_ca: bool,
    kubeconfig: Path | None,
    context: str | None,
    seconds: int | None,
    printing: bool,
    removing: bool,
) -> None:
    """Register the webhooks with the API server, for the objects that the policies match.

    Without --policies, the rules that are registered for policies are kept; `sluice serve --keep-registration` updates
    them. Namespaces and timeout stay as they are registered unless an option sets them.
    """
    if removing:
        _remove(kubeconfig, context, name, printing=printing)
        return
    if not ca_file and not cert_manager and not public_ca:
        way = "give --ca-file ca.crt (`sluice certs` writes one) or --cert-manager NAMESPACE/NAME"
        raise click.UsageError(f"no caBundle for the webhooks; {way}; use --public-ca if a public authority signed")
    namespace, own, port = service
    target = WebhookEndpoint(certificates(ca_file) if ca_file else b"", url or "", own, namespace, port)
    notes = {"cert-manager.io/inject-ca-from": cert_manager} if cert_manager else {}
    options = Options(name, namespace_selector, never or None, timeout, notes)
    bundle = load_bundle(path.absolute() for path in policies)
    needed = hooks(webhooks(bundle.policies), gate=mode == QueueMode.EMBEDDED)
    if printing:
        objects = configurations.configurations(needed, target, options)
        click.echo("---\n".join(documents.dump(obj) for obj in objects), nl=False)
        return

    async def register_in(store: LiveStore) -> list[str]:
        there = [] if policies else await registered(store, name)
        phases = {hook.mutating for hook in there}
        lacking = [hook for hook in needed if hook.mutating not in phases]  # its configuration was deleted, or is empty
        made, left = await configurations.register(store, [*there, *lacking], target, options)
        return [*left, *(f"{o['kind']} {name}: {', '.join(hook['name'] for hook in o['webhooks'])}" for o in made)]

    click.echo("\n".join(ask("register", register_in, kubeconfig, context)))
    if seconds is not None:
        _wait(kubeconfig, context, name, seconds)


def _remove(kubeconfig: Path | None, context: str | None, name: str, *, printing: bool) -> None:
    """Delete the configurations."""
    if printing:
        raise click.UsageError("use --remove or --print, not both")
    ask("register", lambda store: configurations.remove(store, name), kubeconfig, context)
    click.echo(f"deleted {name}")


def _wait(kubeconfig: Path | None, context: str | None, name: str, seconds: int) -> None:
    """Wait for the leader; ends the command where it does not come."""
    if ask("register", lambda store: _kept(store, name, seconds), kubeconfig, context):
        return
    click.echo(
        f"sluice register: no replica has registered its policies within {seconds} s. None leads, or it has not "
        "loaded them: see the logs of the pods, and /readyz?verbose",
        err=True,
    )
    sys.exit(exits.FAILED)


async def _kept(store: LiveStore, name: str, seconds: int) -> bool:
    """Wait until the leader keeps what is registered; say whether that came in time."""
    try:
        async with asyncio.timeout(seconds):
            while not await configurations.is_kept(store, name):  # noqa: ASYNC110 - nothing would set an event
                await asyncio.sleep(LOOK)
    except TimeoutError:
        return False
    return True
