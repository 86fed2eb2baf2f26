"""What the commands that change a cluster share: their options, and the question before they write."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from webhook.cli import exits
from webhook.cli.live import steering
from webhook.cli.live.session import ask
from webhook.cli.live.steering import StatusPatch
from webhook.cli.option_types import LABEL, cluster_options, dry_run_option
from webhook.store.objects import ObjectStore


def changing(name: str, examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command with the options that all of them have. `examples` end its help, a line each."""

    def made(command: Callable[..., None]) -> click.Command:
        command = cluster_options(command)
        command = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(command)
        command = dry_run_option(command)
        return click.command(name, epilog=f"\b\nExamples:\n{examples}\n")(command)

    return made


queue_namespace = click.option(
    "-n", "--namespace", type=LABEL, help="Namespace of a LocalQueue.  [default: QUEUE is a ClusterQueue]"
)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the user wants of a change: only to try it, or to make it without a question."""

    dry_run: bool
    yes: bool

    async def confirm(self, store: ObjectStore, change: StatusPatch) -> None:
        """Ask, where that is wanted, and write. Ends the command where the answer is no. Raises StoreError."""
        if self.dry_run:
            await change.write(store, dry_run=True)
            click.echo(f"{change.told} (dry run)")
            return
        if not self.yes and not click.confirm(f"{change.told}. Continue?", err=True):
            click.echo("nothing was changed", err=True)
            sys.exit(exits.FAILED)
        await change.write(store)
        click.echo(change.told)


def set_stop_policy(
    command: str,
    queue: tuple[str, str | None],
    policy: str,
    confirmation: Confirmation,
    cluster: tuple[Path | None, str | None],
) -> None:
    """Write a queue's `spec.stopPolicy`. `queue` is its name and namespace, `cluster` a kubeconfig and its context."""

    async def do(store: ObjectStore) -> None:
        await confirmation.confirm(store, await steering.of_queue(store, *queue, policy))

    ask(command, do, *cluster)
