"""`sluice evict`: stop a Workload and hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from webhook.cli.live import steering
from webhook.cli.live.confirmed import Confirmation, changing
from webhook.cli.live.session import ask, namespace_of, namespace_option
from webhook.cli.option_types import TEXT
from webhook.store.objects import ObjectStore

EXAMPLES: Final = "  sluice evict train-7b -n team-a    hold it until it is requeued\n  sluice evict train-7b --dry-run"


@changing("evict", EXAMPLES)
@click.argument("workload", type=TEXT, metavar="[KIND/]NAME")
@namespace_option
def evict(
    workload: str, namespace: str | None, dry_run: bool, yes: bool, kubeconfig: Path | None, context: str | None
) -> None:
    """Stop a Workload and hold it until it is requeued. NAME is its own, or its job's.

    Exit code 1: not confirmed, 2: the cluster cannot be used, or the Workload does not exist.
    """
    inside = namespace or namespace_of(kubeconfig, context)

    async def do(store: ObjectStore) -> None:
        change = await steering.of_workload(store, workload, inside, active=False)
        await Confirmation(dry_run, yes).confirm(store, change)

    ask("evict", do, kubeconfig, context)
