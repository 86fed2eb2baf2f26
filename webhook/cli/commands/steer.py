"""`sluice stop`, `resume`, `evict` and `requeue`: for the day when somebody has to step in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.live import steering
from webhook.cli.live.session import ask, cluster_options, namespace_of, namespace_option
from webhook.cli.live.steering import DRAIN, HOLD, NONE, Change
from webhook.cli.option_types import NAMESPACE
from webhook.kube.conditions import holds
from webhook.store.objects import ObjectStore

EXAMPLES: Final = {
    "stop": "  sluice stop gpu-queue                 nothing new starts; what runs goes on\n"
    "  sluice stop gpu-queue --drain         what runs is evicted too\n"
    "  sluice stop team-a-queue -n team-a    only the LocalQueue",
    "resume": "  sluice resume gpu-queue\n  sluice resume team-a-queue -n team-a",
    "evict": "  sluice evict train-7b -n team-a    hold it until it is requeued\n  sluice evict train-7b --dry-run",
    "requeue": "  sluice requeue train-7b    put it back into its queue, running or held",
}


def _changing(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command with the options that all four share."""

    def made(command: Callable[..., None]) -> click.Command:
        command = cluster_options(command)
        command = click.option("-y", "--yes", is_flag=True, help="Do not ask.")(command)
        command = click.option("--dry-run", is_flag=True, help="Check on the server, write nothing.")(command)
        return click.command(name, epilog=f"\b\nExamples:\n{EXAMPLES[name]}\n")(command)

    return made


_queue_namespace: Final = click.option(
    "-n", "--namespace", type=NAMESPACE, help="Namespace of a LocalQueue.  [default: QUEUE is a ClusterQueue]"
)


@_changing("stop")
@click.argument("queue")
@_queue_namespace
@click.option("--drain", is_flag=True, help="Also evict what runs.")
def stop(
    queue: str, namespace: str | None, drain: bool, dry_run: bool, yes: bool, kubeconfig: Path | None,
    context: str | None,
) -> None:  # fmt: skip
    """Stop a queue: nothing of it starts until it is resumed."""
    _queue("stop", queue, namespace, DRAIN if drain else HOLD, Answer(dry_run, yes), kubeconfig, context)


@_changing("resume")
@click.argument("queue")
@_queue_namespace
def resume(
    queue: str, namespace: str | None, dry_run: bool, yes: bool, kubeconfig: Path | None, context: str | None
) -> None:
    """Resume a queue that was stopped."""
    _queue("resume", queue, namespace, NONE, Answer(dry_run, yes), kubeconfig, context)


@_changing("evict")
@click.argument("workload")
@namespace_option
def evict(
    workload: str, namespace: str | None, dry_run: bool, yes: bool, kubeconfig: Path | None, context: str | None
) -> None:
    """Stop a Workload and hold it until it is requeued. WORKLOAD is its name or its job's."""
    inside = namespace or namespace_of(kubeconfig, context)

    async def do(store: ObjectStore) -> None:
        change = await steering.of_workload(store, workload, inside, active=False)
        await Answer(dry_run, yes).confirm(store, change)

    ask("evict", do, kubeconfig, context)


@_changing("requeue")
@click.argument("workload")
@namespace_option
def requeue(
    workload: str, namespace: str | None, dry_run: bool, yes: bool, kubeconfig: Path | None, context: str | None
) -> None:
    """Put a Workload back into its queue: a running one is evicted first. WORKLOAD is its name or its job's."""
    inside, answer = namespace or namespace_of(kubeconfig, context), Answer(dry_run, yes)

    async def do(store: ObjectStore) -> None:
        if holds(await steering.workload_of(store, workload, inside), "QuotaReserved"):
            change = await steering.of_workload(store, workload, inside, active=False)
            await answer.confirm(store, change)
            if dry_run:
                return
            if not await steering.released(store, change):
                raise ValueError(f"Workload {inside}/{change.name} still holds its quota; is Sluice running?")
            answer.yes = True
        await answer.confirm(store, await steering.of_workload(store, workload, inside, active=True))

    ask("requeue", do, kubeconfig, context)


def _queue(
    command: str, queue: str, namespace: str | None, policy: str, answer: Answer, kubeconfig: Path | None,
    context: str | None,
) -> None:  # fmt: skip
    async def do(store: ObjectStore) -> None:
        await answer.confirm(store, await steering.of_queue(store, queue, namespace, policy))

    ask(command, do, kubeconfig, context)


class Answer:
    """What the user said of a change: only try it, or do it without a question."""

    def __init__(self, dry_run: bool, yes: bool) -> None:
        self.dry_run, self.yes = dry_run, yes

    async def confirm(self, store: ObjectStore, change: Change) -> None:
        """Ask, where that is wanted, and write. Ends the command where the answer is no. Raises StoreError."""
        if self.dry_run:
            await change.write(store, dry_run=True)
            click.echo(f"{change.told} (dry run)")
            return
        if not self.yes and not click.confirm(f"{change.told}. Go on?", err=True):
            click.echo("nothing was changed", err=True)
            sys.exit(exits.FAILED)
        await change.write(store)
        click.echo(change.told)
