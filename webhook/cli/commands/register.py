"""`sluice register`: tell the API server what to send us, or take that back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Final

import click

from webhook import documents, setting_values
from webhook.cli import exits
from webhook.cli.inputs import certificates
from webhook.cli.option_types import FILE, LABELS, NAMESPACE, TEXT, THERE, Read, whole
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.live_store import LiveStore
from webhook.cluster.webhooks import registration
from webhook.cluster.webhooks.hooks import hooks
from webhook.cluster.webhooks.registration import Options, WebhookEndpoint, configurations
from webhook.config import QueueMode
from webhook.policy.loading.load_bundle import load_bundle
from webhook.store.errors import StoreError
from webhook.store.objects import Object

EXAMPLES: Final = """\b
Examples:
  sluice register --policies policies --ca-file ca.crt --print    what would be written
  sluice register --policies policies --url https://HOST:9443 --ca-file ca.crt
  sluice register --remove
"""


@click.command(epilog=EXAMPLES)
@click.option("--policies", multiple=True, type=THERE, help="A folder or file of policies.")
@click.option(
    "--url", type=Read("url", setting_values.url), help="https://HOST:PORT of the server, where it is reached directly."
)
@click.option("--service", type=Read("namespace/name[:port]", setting_values.service), show_default=True,
              default="sluice-system/sluice:443", help="The server's Service, where there is no --url.")  # fmt: skip
@click.option("--ca-file", type=FILE, help="The authority's bundle (ca.crt).")
@click.option(
    "--namespace-selector", type=LABELS, default="sluice.dev/managed=true", show_default=True, help="Who opts in."
)
@click.option(
    "--never",
    multiple=True,
    type=NAMESPACE,
    help="A namespace that is never matched, besides the system's and our own.",
)
@click.option("--mode", type=click.Choice([m.value for m in QueueMode]), default="embedded", show_default=True)
@click.option(
    "--name",
    type=Read("name", setting_values.name),
    default="sluice",
    show_default=True,
    help="The name of the configurations.",
)
@click.option("--timeout", default=5, show_default=True, type=whole(1, 30, "seconds"), help="Seconds.")
@click.option("--cert-manager", type=Read("namespace/name", setting_values.named),
              help="The Certificate whose CA cert-manager writes into them.")  # fmt: skip
@click.option("--kubeconfig", type=FILE)
@click.option("--context", type=TEXT)
@click.option("--print", "printing", is_flag=True, help="Print them instead.")
@click.option("--remove", "removing", is_flag=True, help="Take them away.")
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
    kubeconfig: Path | None,
    context: str | None,
    printing: bool,
    removing: bool,
) -> None:
    """Write the webhook configurations, generated from the policies."""
    if removing:
        _write(kubeconfig, context, lambda store: registration.remove(store, name))
        click.echo(f"removed {name}")
        return
    namespace, own, port = service
    target = WebhookEndpoint(certificates(ca_file) if ca_file else b"", url or "", own, namespace, port)
    notes = {"cert-manager.io/inject-ca-from": cert_manager} if cert_manager else {}
    options = Options(name, namespace_selector, (*never, namespace), timeout, notes)
    objects = _objects(policies, mode, target, options)
    if printing:
        click.echo("---\n".join(documents.dump(obj) for obj in objects), nl=False)
        return
    _write(kubeconfig, context, lambda store: registration.register(store, objects, name, target, options))
    for obj in objects:
        click.echo(f"{obj['kind']} {name}: {', '.join(entry['name'] for entry in obj['webhooks'])}")


def _objects(policies: tuple[Path, ...], mode: str, target: WebhookEndpoint, options: Options) -> list[Object]:
    bundle = load_bundle(path.absolute() for path in policies)
    return configurations(hooks(bundle.policies, gate=mode == QueueMode.EMBEDDED), target, options)


def _write(kubeconfig: Path | None, context: str | None, do: Callable[[LiveStore], Awaitable[None]]) -> None:
    async def go() -> None:
        client = await Client.connect(kubeconfig, context, Pace(), monotonic)
        try:
            await do(LiveStore(client))
        finally:
            await client.close()

    try:
        asyncio.run(go())
    except (StoreError, ValueError, OSError) as error:
        _fail(str(error))


def _fail(message: str) -> None:
    click.echo(f"sluice register: {message}", err=True)
    sys.exit(exits.BAD_INPUT)
