"""`sluice requeue`: put a Workload back into its queue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from webhook.cli.live import steering
from webhook.cli.live.confirmed import Confirmation, changing
from webhook.cli.live.session import ask, namespace_of, namespace_option
from webhook.cli.live.steering import StatusPatch
from webhook.cli.option_types import TEXT
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.objects import ObjectStore

EXAMPLES: Final = "  sluice requeue train-7b    put it back into its queue, running or held"


@changing("requeue", EXAMPLES)
@click.argument("workload", type=TEXT, metavar="[KIND/]NAME")
@namespace_option
def requeue(
    workload: str, namespace: str | None, dry_run: bool, yes: bool, kubeconfig: Path | None, context: str | None
) -> None:
    """Put a Workload back into its queue. A running one is evicted first. NAME is its own, or its job's.

    Exit code 1: not confirmed, 2: the cluster cannot be used, or the Workload does not exist.
    """
    inside, answer = namespace or namespace_of(kubeconfig, context), Confirmation(dry_run, yes)

    async def do(store: ObjectStore) -> None:
        confirmed = answer
        if holds(await steering.workload_of(store, workload, inside), QUOTA_RESERVED):
            change = await steering.of_workload(store, workload, inside, active=False)
            told = f"Workload {inside}/{change.name} is evicted, and is pending again when its pods are gone"
            change = replace(change, told=told)
            await answer.confirm(store, change)
            if dry_run:
                return
            await _released(store, change)
            confirmed = replace(answer, yes=True)
        await confirmed.confirm(store, await steering.of_workload(store, workload, inside, active=True))

    ask("requeue", do, kubeconfig, context)


async def _released(store: ObjectStore, change: StatusPatch) -> None:
    """Wait until the Workload holds no quota. Raises ValueError, or is interrupted: it stays held, and that is said."""
    held = (
        f"Workload {change.namespace}/{change.name} is held, and its pods are not gone yet; when they are, run "
        f"`sluice requeue {change.name} -n {change.namespace}` again"
    )
    try:
        released = await steering.released(store, change)
    except asyncio.CancelledError:
        click.echo(f"sluice requeue: {held}", err=True)
        raise
    if not released:
        raise ValueError(held)
