"""`sluice serve`: the webhook and the queues of one cluster."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import signal
import sys
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final

import click
import uvloop

from webhook.certificates.secret import CertificateSecret, SecretPlace
from webhook.cli import exits
from webhook.cli.logs import start_logging
from webhook.cli.option_types import (
    FILE,
    FOLDER,
    TEXT,
    PathOption,
    Words,
    cluster_options,
    policies_option,
    rules_option,
)
from webhook.cluster.api.release_owner import owners_of
from webhook.cluster.api.write_metrics import WriteMetrics
from webhook.config import LEVELS, LOG_FORMATS, Config, PageMode, QueueMode, load, typed
from webhook.daemon import Daemon, system_clocks
from webhook.diagnostics import Diagnostic
from webhook.journal.heading import UserNames
from webhook.policy_reload.policies import LoaderError
from webhook.replica import replica_name
from webhook.server import missing_files
from webhook.server.deadlines import start_timer, stop_timer
from webhook.server.not_ready import waiting
from webhook.store.no_cluster import NoCluster
from webhook.store.objects import Object, ObjectStore
from webhook.tls.folder import Folder

YOUNG: Final = (1_000, 5, 2_000)
"""What a review leaves behind has no cycles and goes by itself, and what a view takes stays: a look for garbage finds
next to none. Short looks delay reviews by less than a millisecond, at 10,000 objects each and 200,000 every twentieth
time it was 170, and take a fifth of the time: what they visit is still in the processor's cache."""
SWITCH: Final = 0.001
"""Seconds after which a thread (of files, of recordings) gives way to admission; the default is five times that."""
USUAL_START: Final = 1.0
"""Seconds in which certificates usually are there; after them the state port says what they wait for."""


class Setting(click.ParamType[Any]):
    """A value of the setting that the option is named after."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the value; what is wrong becomes a usage error."""
        name = param.name if param is not None and param.name else self.name
        try:
            typed(name, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


NUMBER: Final = Setting("number")
PORT: Final = Setting("host:port")

EXAMPLES: Final = """\b
Examples:
  sluice serve -p policies --cert-dir certs --no-cluster
  sluice serve -p policies --cert-dir certs --kubeconfig ~/.kube/config
  sluice serve -p policies --cert-dir certs --record-folder recorded
"""


@click.command(epilog=EXAMPLES)
@click.option("--config", "file", type=FILE, help="YAML file with any of these settings.")
@click.option("--kueue-config", type=FILE, help="File of Kueue's Configuration (YAML or JSON).")
@policies_option("none")
@rules_option("queue_rules", "kueue", former=["--queue-rules"])
@click.option("--listen", type=PORT, help="Address of the admission server (HTTPS).  [default: 127.0.0.1:9443]")
@click.option(
    "--visibility-listen",
    type=PORT,
    help="Address for the visibility API, over TLS, for the API server.  [default: none]",
)
@click.option("--state-listen", type=PORT, help="Address for health and metrics over plain HTTP.  [default: none]")
@click.option(
    "--ui",
    type=Words([mode.value for mode in PageMode]),
    help="Access to the page: off, read-only for everyone, or with a token (login).  [default: off]",
)
@click.option("--ui-listen", type=PORT, help="Address of the page.  [default: 127.0.0.1:8090]")
@click.option(
    "--cert-dir",
    type=PathOption(exists=True, file_okay=False),
    help="Folder of the certificate: tls.crt, tls.key, ca.crt.  [default: certs/dev]",
)
@click.option("--certificate-secret", type=Setting("name"), metavar="NAME",
              help="Secret for certificates that Sluice makes and rotates itself.  [default: none]")  # fmt: skip
@click.option("--release", type=Setting("name"),
              help="Name of the Service and of the webhook configurations.  [default: sluice]")  # fmt: skip
@click.option(
    "--keep-registration/--no-keep-registration",
    default=None,
    help="Keep the webhook rules up to date with the policies.  [default: no]",
)
@click.option("--client-ca", type=FILE, help="CA certificates of allowed clients.  [default: all clients]")
@click.option("--client-names", multiple=True, type=TEXT, metavar="NAME",
              help="Allowed common name of client certificates. Can be repeated.  [default: all]")  # fmt: skip
@cluster_options
@click.option(
    "--cluster/--no-cluster",
    default=None,
    help="Use an API server; --no-cluster serves policies only: "
    "a Namespace has the label of its name alone there, so other namespaceSelectors match none.  [default: cluster]",
)
@click.option("--mode", type=Words([mode.value for mode in QueueMode]),
              help="Who runs the queues: Sluice, an external Kueue, or none.  [default: embedded]")  # fmt: skip
@click.option(
    "--refuse-impossible/--no-refuse-impossible",
    default=None,
    help="Deny jobs that their queue can never admit; Kueue keeps them pending.  [default: deny]",
)
@click.option("--namespace", type=Setting("name"), help="Sluice's own namespace.  [default: sluice-system]")
@click.option(
    "--namespace-selector", type=Setting("key=value,..."), help="Labels of the namespaces whose objects are reviewed."
)
@click.option("--never", multiple=True, type=TEXT, metavar="NAMESPACE",
              help="Namespace to exclude, besides kube-system and Sluice's own. Can be repeated.")  # fmt: skip
@click.option("--identity", type=TEXT, metavar="NAME", help="Name of this replica in the Lease.")
@click.option(
    "--leader-election/--no-leader-election",
    default=None,
    help="Elect a leader. Turn it off only with a single replica.",
)
@click.option("--lease-seconds", type=NUMBER, help="Duration of the Lease in seconds.  [default: 15]")
@click.option("--reload-seconds", type=NUMBER, help="Seconds between checks of the policy files.  [default: 1]")
@click.option("--writes-per-second", type=NUMBER, help="Maximum writes to the API server per second.  [default: 50]")
@click.option(
    "--force-delete-after",
    type=NUMBER,
    help="Seconds before Pods on unreachable nodes are force-deleted; "
    "requires the feature gate FailureRecoveryPolicy.  [default: 60]",
)
@click.option(
    "--shutdown-delay", type=NUMBER, help="Seconds that the port stays open after readiness fails.  [default: 0]"
)
@click.option(
    "--record-folder",
    type=FOLDER,
    help="Folder of recorded reviews, without secrets, for `sluice replay`.  [default: none]",
)
@click.option("--record-sample", type=NUMBER, help="Share of reviews to record, from 0 to 1.  [default: 1]")
@click.option("--record-megabytes", type=NUMBER, help="Maximum size of all recordings, in MiB.  [default: 256]")
@click.option(
    "--journal-folder",
    type=FOLDER,
    help="Folder of the journal of queue decisions, for `sluice journal`.  [default: none]",
)
@click.option(
    "--journal-users",
    type=Words([names.value for names in UserNames]),
    help="Whether the journal keeps user names or hashes them.  [default: keep]",
)
@click.option(
    "--journal-users-key",
    type=FILE,
    help="File with the key of hashed user names.  [default: users.key in the journal's folder, created if missing]",
)
@click.option("--journal-days", type=NUMBER, help="Days that the journal is kept.  [default: 31]")
@click.option("--journal-megabytes", type=NUMBER, help="Maximum size of the journal, in MiB.  [default: 1024]")
@click.option("--log-level", type=Words(LEVELS), help="Log level.  [default: info]")
@click.option(
    "--log-format",
    type=Words(LOG_FORMATS),
    help="Log format: lines of text, or one JSON object per line.  [default: text]",
)
@click.option(
    "--traces/--no-traces",
    default=None,
    help="Send OpenTelemetry traces to OTEL_EXPORTER_OTLP_ENDPOINT.  [default: no]",
)
def serve(file: Path | None, **options: Any) -> None:
    """Serve the admission webhooks and run the queues. SIGTERM and Ctrl-C shut it down gracefully.

    Exit code 0: it was shut down, 2: it could not start.
    """
    flags = {name: value for name, value in options.items() if value not in (None, ())}
    told: list[Diagnostic] = []
    config = load(file, os.environ, flags, told)
    for finding in told:
        click.echo(finding.render(), err=True)
    if config.certificate_secret and not config.cluster:
        raise click.UsageError("--certificate-secret requires a cluster")
    if not config.certificate_secret and not (config.cert_dir / "tls.crt").exists():
        hint = f"run `sluice certs --cert-dir {config.cert_dir}`, or set --cert-dir"
        raise click.UsageError(f"no tls.crt in {config.cert_dir}; {hint}")
    start_logging(config.log_level, config.log_format)
    gc.set_threshold(*YOUNG)
    sys.setswitchinterval(SWITCH)
    settle()
    start_timer()
    try:
        uvloop.run(_serve(config))
    except (OSError, ValueError, LoaderError) as error:
        click.echo(f"sluice serve: {error}", err=True)
        sys.exit(exits.BAD_INPUT)
    finally:
        stop_timer()


def settle() -> None:
    """Clear up, and leave what is there now out of all later looks for garbage, which then take no time to speak of.

    Done before the policies and the view are loaded: what those have changes, and goes without a look.
    """
    gc.collect()
    gc.freeze()


async def _serve(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await missing_files.wait_for(config.policies, config.state_listen, stop)
    if stop.is_set():
        return
    client, store = await _connect(config)
    try:
        owners = await owners_of(store, config.namespace, config.release) if config.cluster else ()
        certificates = await _certificates(config, store, owners, stop)
        if stop.is_set():
            return
        daemon = Daemon(config, store, certificates=certificates, traces=_traces(config), owners=owners)
        if client is not None:
            daemon.registry.register(WriteMetrics(client.writes))
        await daemon.start()
        try:
            await stop.wait()
        finally:
            await daemon.stop()
    finally:
        if client is not None:
            await client.close()


async def _certificates(
    config: Config, store: ObjectStore, owners: tuple[Object, ...], stop: asyncio.Event
) -> CertificateSecret | None:
    """Fill the certificate folder from the Secret, where Sluice makes its certificates itself; ends at `stop` too."""
    if not config.certificate_secret:
        return None
    place = SecretPlace(config.namespace, config.certificate_secret, config.release, replica_name(config), owners)
    made = CertificateSecret(store, place, Folder(config.cert_dir), _issuer, system_clocks())
    work, ended = asyncio.create_task(made.start()), asyncio.create_task(stop.wait())
    first = partial(asyncio.wait, {work, ended}, return_when=asyncio.FIRST_COMPLETED)
    try:
        done, _ = await first(timeout=USUAL_START)
        if not done:
            async with waiting(config.state_listen, "certificate", lambda: made.detail or "the Secret is being read"):
                done, _ = await first()
    finally:
        for task in (work, ended):
            task.cancel()
    if work in done:
        work.result()
    return made


def _traces(config: Config) -> Any:
    """Return what traces reviews and rounds, None where that is off: its libraries are imported only here."""
    if not config.traces:
        return None
    try:
        return importlib.import_module("webhook.telemetry").Traces(replica_name(config))
    except ImportError as error:
        raise ValueError(f"--traces requires OpenTelemetry: pip install 'sluice-gate[traces]' ({error})") from None


def _issuer() -> Any:
    """Return what signs; it takes 9 MiB and is imported only where something is signed."""
    return importlib.import_module("webhook.certificates.issuing")


async def _connect(config: Config) -> tuple[Any, ObjectStore]:
    """Return the API server's client and store; without a cluster none, and one in memory.

    The client's library takes 30 MiB: it is imported only here.
    """
    if not config.cluster:
        return None, NoCluster()
    library = importlib.import_module("webhook.cluster.api.client")
    writes, burst = config.writes_per_second, max(1, int(config.writes_per_second * 2))
    pace = library.Pace(writes, burst, min(4.0, config.lease_seconds / 4))
    client = await library.Client.connect(config.kubeconfig, config.context or None, pace, monotonic)
    store: ObjectStore = importlib.import_module("webhook.cluster.api.live_store").LiveStore(client)
    return client, store
