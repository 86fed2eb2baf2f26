"""`sluice serve`: the webhook and the queues of one cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import click
import uvloop

from webhook.cli import exits
from webhook.cluster.client import Client, Pace
from webhook.cluster.live import LiveStore
from webhook.config import Config, Mode, load
from webhook.daemon import Daemon
from webhook.store.memory import MemoryStore


@click.command()
@click.option("--config", "file", type=click.Path(path_type=Path), help="A YAML file with any of these settings.")
@click.option("--policies", multiple=True, help="A folder or file of policies; may be given several times.")
@click.option("--queue-rules", multiple=True, help="A QueuePolicy in force, by name; several add up.  [default: kueue]")
@click.option("--listen", help="HOST:PORT of the admission server (HTTPS).  [default: 127.0.0.1:9443]")
@click.option("--state-listen", help="HOST:PORT for health and metrics over plain HTTP.  [default: none]")
@click.option("--cert-dir", help="The folder with tls.crt and tls.key.  [default: certs/dev]")
@click.option("--kubeconfig", help="A kubeconfig file.  [default: the pod's service account, else your own]")
@click.option("--context", help="The kubeconfig's context.")
@click.option("--cluster/--no-cluster", default=None, help="Without a cluster only the policies are served.")
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Who decides the queues.")
@click.option("--namespace", help="Sluice's own namespace.  [default: sluice-system]")
@click.option("--namespace-selector", help="Labels (key=value,...) of the namespaces whose jobs the queues hold.")
@click.option("--identity", help="This replica's name in the lease.")
@click.option("--leader-election/--no-leader-election", default=None, help="Off only where there is one replica.")
@click.option("--lease-seconds", help="How long a lease lasts.  [default: 15]")
@click.option("--reload-seconds", help="How often the policy files are looked at.  [default: 1]")
@click.option("--writes-per-second", help="How fast the API server is written to.  [default: 50]")
@click.option("--shutdown-delay", help="Seconds between `not ready` and the closing of the port.  [default: 0]")
@click.option("--record-folder", help="Record reviews here, without secrets, for `sluice replay`.  [default: none]")
@click.option("--record-sample", help="The share of reviews that is recorded, 0 to 1.  [default: 1]")
@click.option("--record-megabytes", help="What recordings may take on the disk, in MiB.  [default: 256]")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much is told.")
def serve(file: Path | None, **options: Any) -> None:
    """Serve admission, and decide the queues. SIGTERM and Ctrl-C end it in good order."""
    flags = {name: value for name, value in options.items() if value not in (None, ())}
    config = load(file, os.environ, flags)
    logging.basicConfig(
        level=config.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    try:
        uvloop.run(_serve(config))
    except (OSError, ValueError) as error:
        click.echo(f"sluice serve: {error}", err=True)
        sys.exit(exits.BAD_INPUT)


async def _serve(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    client = await _client(config)
    try:
        daemon = Daemon(config, LiveStore(client) if client else MemoryStore())
        await daemon.start()
        try:
            await stop.wait()
        finally:
            await daemon.stop()
    finally:
        if client is not None:
            await client.close()


async def _client(config: Config) -> Client | None:
    if not config.cluster:
        return None
    pace = Pace(config.writes_per_second, max(1, int(config.writes_per_second * 2)), min(4.0, config.lease_seconds / 4))
    return await Client.connect(config.kubeconfig, config.context or None, pace, monotonic)
