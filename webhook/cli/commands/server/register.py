"""`sluice register`: tell the API server what to send us, or take that back."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from webhook import documents, setting_values
from webhook.cli import exits
from webhook.cli.inputs import certificates
from webhook.cli.live.connection import with_store
from webhook.cli.option_types import FILE, LABELS, NAMESPACE, POLICIES, TEXT, Read, whole
from webhook.cluster.api.live_store import LiveStore
from webhook.cluster.webhooks import registration
from webhook.cluster.webhooks.hooks import hooks
from webhook.cluster.webhooks.registered import registered
from webhook.cluster.webhooks.registration import Options, WebhookEndpoint
from webhook.config import QueueMode
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.webhook_rules import registration as webhooks
from webhook.store.errors import StoreError
from webhook.store.objects import Object

Done = TypeVar("Done")

EXAMPLES: Final = """\b
Examples:
  sluice register --policies policies --ca-file ca.crt --print  show only
  sluice register --policies policies --url https://HOST:9443 --ca-file ca.crt
  sluice register --ca-file ca.crt           keep the rules, change the CA
  sluice register --remove
"""


@click.command(epilog=EXAMPLES)
@click.option("--policies", multiple=True, type=POLICIES, help="Policies: files, folders, or sluice.dev/NAME.")
@click.option(
    "--url", type=Read("url", setting_values.url), help="URL of the server, if it is not reached through a Service."
)
@click.option("--service", type=Read("namespace/name[:port]", setting_values.service), show_default=True,
              default="sluice-system/sluice:443", help="Service of the server, if there is no --url.")  # fmt: skip
@click.option("--ca-file", type=FILE, help="CA bundle of the server (ca.crt).")
@click.option(
    "--namespace-selector",
    type=LABELS,
    default="sluice.dev/managed=true",
    show_default=True,
    help="Labels of the namespaces to match.",
)
@click.option(
    "--never",
    multiple=True,
    type=NAMESPACE,
    help="Namespace to exclude, besides kube-system and our own. Can be repeated.",
)
@click.option("--mode", type=click.Choice([m.value for m in QueueMode]), default="embedded", show_default=True)
@click.option(
    "--name",
    type=Read("name", setting_values.name),
    default="sluice",
    show_default=True,
    help="Name of the webhook configurations.",
)
@click.option(
    "--timeout",
    default=5,
    show_default=True,
    type=whole(1, 30, "seconds"),
    help="Timeout of a webhook call, in seconds.",
)
@click.option("--cert-manager", type=Read("namespace/name", setting_values.named),
              help="Certificate whose CA cert-manager injects.")  # fmt: skip
@click.option("--public-ca", is_flag=True, help="Write no caBundle: a public authority signed the certificate.")
@click.option("--kubeconfig", type=FILE)
@click.option("--context", type=TEXT)
@click.option("--print", "printing", is_flag=True, help="Print the configurations, do not write them.")
@click.option("--remove", "removing", is_flag=True, help="Delete the configurations.")
def register(
    policies: tuple[Path, ...],
    url: str | None,
    service: tuple[str, str, int],
    ca_file: Path | None,
    namespace_selector: dict[str, str],
    never: tuple[str, ...],
    mode: str,
    name: str,
    timeout: int,
    cert_manager: str | None,
    public_ca: bool,
    kubeconfig: Path | None,
    context: str | None,
    printing: bool,
    removing: bool,
) -> None:
    """Register the webhooks with the API server, as the policies need them.

    Without --policies, what is registered for policies stays as it is, and `sluice serve --keep-registration` brings it
    up to date.
    """
    if removing:
        _in_cluster(kubeconfig, context, lambda store: registration.remove(store, name))
        click.echo(f"deleted {name}")
        return
    if not ca_file and not cert_manager and not public_ca:
        way = "give --ca-file ca.crt (`sluice certs` writes one) or --cert-manager NAMESPACE/NAME"
        raise click.UsageError(f"no caBundle for the webhooks; {way}; --public-ca if a public authority signed")
    namespace, own, port = service
    target = WebhookEndpoint(certificates(ca_file) if ca_file else b"", url or "", own, namespace, port)
    notes = {"cert-manager.io/inject-ca-from": cert_manager} if cert_manager else {}
    options = Options(name, namespace_selector, (*never, namespace), timeout, notes)
    bundle = load_bundle(path.absolute() for path in policies)
    needed = hooks(webhooks(bundle.policies), gate=mode == QueueMode.EMBEDDED)
    if printing:
        objects = registration.configurations(needed, target, options)
        click.echo("---\n".join(documents.dump(obj) for obj in objects), nl=False)
        return

    async def register_in(store: LiveStore) -> list[Object]:
        there = [] if policies else await registered(store, name)
        return await registration.register(store, there or needed, target, options)

    for obj in _in_cluster(kubeconfig, context, register_in):
        click.echo(f"{obj['kind']} {name}: {', '.join(entry['name'] for entry in obj['webhooks'])}")


def _in_cluster(kubeconfig: Path | None, context: str | None, do: Callable[[LiveStore], Awaitable[Done]]) -> Done:
    try:
        return with_store(do, kubeconfig, context)
    except (StoreError, ValueError, OSError) as error:
        click.echo(f"sluice register: {error}", err=True)
        sys.exit(exits.BAD_INPUT)
