"""`sluice certs`: make, renew or rotate the certificates in a folder."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from webhook import setting_values
from webhook.cli import exits
from webhook.cli.option_types import FOLDER, LABEL, TEXT, Read, Renamed
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure, issue_client, rotate

DEFAULT_NAMES = ("localhost", "127.0.0.1", "::1")


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Return the DNS names that an API server calls a Service by."""
    return tuple(f"{service}.{namespace}{end}" for end in (".svc", ".svc.cluster.local", ""))


def service_or_name(value: str) -> tuple[str, str]:
    """Read a Service as (namespace, name); the name alone is a former spelling, with an empty namespace."""
    return setting_values.service(value)[:2] if "/" in value else ("", setting_values.label(value))


EXAMPLES: Final = """\b
Examples:
  sluice certs --cert-dir certs --name sluice.example.com    for a host
  sluice certs --service sluice-system/sluice                for a Service
  sluice certs --cert-dir certs --rotate                     a new CA as well
  sluice certs --cert-dir certs --client kube-apiserver      client.crt as well
"""


@click.command(epilog=EXAMPLES)
@click.option("--cert-dir", "folder", cls=Renamed, former=["--dir"], type=FOLDER, default=Path("certs/dev"),
              show_default=True, help="Folder of the certificate: tls.crt, tls.key, ca.crt.")  # fmt: skip
@click.option("--name", "names", multiple=True, type=Read("host", setting_values.host), metavar="NAME",
              help="DNS name or IP address of the server. Can be repeated.")  # fmt: skip
@click.option("--service", type=Read("namespace/name[:port]", service_or_name), help="Service of the server.")
@click.option("--namespace", "former_namespace", type=LABEL, default="sluice-system", hidden=True)
@click.option("--rotate", "rotating", is_flag=True, help="Create a new CA; the old one stays in the bundle.")
@click.option("--force", is_flag=True, help="Issue a new certificate even if the current one is valid.")
@click.option("--client", type=TEXT, metavar="NAME",
              help="Also issue client.crt and client.key, with this common name.")  # fmt: skip
def certs(
    folder: Path,
    names: tuple[str, ...],
    service: tuple[str, str] | None,
    former_namespace: str,
    rotating: bool,
    force: bool,
    client: str | None,
) -> None:
    """Create a CA and a server certificate, or renew a certificate that is about to expire."""
    of_service = service_names(service[1], service[0] or former_namespace) if service else ()
    wanted = (*of_service, *(names or DEFAULT_NAMES))
    where = Folder(folder)
    now = datetime.now(UTC)
    try:
        if rotating:
            rotate(where, wanted, now)
            done = "rotated: new CA and certificate; the old CA stays trusted"
        else:
            done = ensure(where, wanted, now, force=force)
        if client is not None:
            issue_client(where, client, now)
            done += f'; a client certificate for "{client}"'
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        click.echo(f"sluice certs: {folder}: {told}", err=True)
        sys.exit(exits.BAD_INPUT)
    click.echo(f"{folder}: {done}")
