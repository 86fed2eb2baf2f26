"""`sluice register`: tell the API server what to send us, or take that back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Final

import click

from webhook import documents
from webhook.cli import exits
from webhook.cli.inputs import certificates
from webhook.cluster import registration
from webhook.cluster.client import Client, Pace
from webhook.cluster.hooks import hooks
from webhook.cluster.live import LiveStore
from webhook.cluster.registration import Options, Target, configurations
from webhook.config import Mode
from webhook.policy.load import load_bundle
from webhook.store.errors import StoreError
from webhook.store.objects import Object

EXAMPLES: Final = """\b
Examples:
  sluice register --policies policies --ca-file ca.crt --print    what would be written
  sluice register --policies policies --url https://HOST:9443 --ca-file ca.crt
  sluice register --remove
"""


@click.command(epilog=EXAMPLES)
@click.option("--policies", multiple=True, type=click.Path(path_type=Path), help="A folder or file of policies.")
@click.option("--url", default="", help="https://HOST:PORT of the server, where the API server reaches it directly.")
@click.option("--service", default="sluice-system/sluice:443", show_default=True, help="NAMESPACE/NAME:PORT instead.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="The authority's bundle (ca.crt).")
@click.option("--namespace-selector", default="sluice.dev/managed=true", show_default=True, help="Who opts in.")
@click.option("--never", multiple=True, help="A namespace that is never matched, besides the system's and our own.")
@click.option("--mode", type=click.Choice([m.value for m in Mode]), default="embedded", show_default=True)
@click.option("--name", default="sluice", show_default=True, help="The name of the configurations.")
@click.option("--timeout", default=5, show_default=True, type=click.IntRange(1, 30), help="Seconds.")
@click.option("--cert-manager", default="", help="NAMESPACE/CERTIFICATE whose CA cert-manager writes into them.")
@click.option("--kubeconfig", type=click.Path(path_type=Path))
@click.option("--context")
@click.option("--print", "printing", is_flag=True, help="Print them instead.")
@click.option("--remove", "removing", is_flag=True, help="Take them away.")
def register(
    policies: tuple[Path, ...],
    url: str,
    service: str,
    ca_file: Path | None,
    namespace_selector: str,
    never: tuple[str, ...],
    mode: str,
    name: str,
    timeout: int,
    cert_manager: str,
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
    namespace, _, rest = service.partition("/")
    own, _, port = rest.partition(":")
    try:
        authority = certificates(ca_file) if ca_file else b""
    except OSError as error:
        _fail(str(error))
    target = Target(authority, url, own, namespace, int(port or 443))
    notes = {"cert-manager.io/inject-ca-from": cert_manager} if cert_manager else {}
    options = Options(name, _labels(namespace_selector), (*never, namespace), timeout, notes)
    objects = _objects(policies, mode, target, options)
    if printing:
        click.echo("---\n".join(documents.dump(obj) for obj in objects), nl=False)
        return
    _write(kubeconfig, context, lambda store: registration.register(store, objects, name, target, options))
    for obj in objects:
        click.echo(f"{obj['kind']} {name}: {', '.join(entry['name'] for entry in obj['webhooks'])}")


def _objects(policies: tuple[Path, ...], mode: str, target: Target, options: Options) -> list[Object]:
    bundle = load_bundle(path.absolute() for path in policies)
    return configurations(hooks(bundle.policies, gate=mode == Mode.EMBEDDED), target, options)


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


def _labels(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _fail(message: str) -> None:
    click.echo(f"sluice register: {message}", err=True)
    sys.exit(exits.BAD_INPUT)
