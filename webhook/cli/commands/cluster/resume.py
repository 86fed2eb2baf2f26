"""`sluice resume`: let a stopped queue admit workloads again."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from webhook.cli.live.confirmed import Confirmation, changing, queue_namespace, set_stop_policy
from webhook.cli.live.steering import NONE
from webhook.cli.option_types import TEXT

EXAMPLES: Final = "  sluice resume gpu-queue\n  sluice resume team-a-queue -n team-a"


@changing("resume", EXAMPLES)
@click.argument("queue", type=TEXT)
@queue_namespace
def resume(
    queue: str, namespace: str | None, dry_run: bool, yes: bool, kubeconfig: Path | None, context: str | None
) -> None:
    """Resume a stopped queue: it admits workloads again.

    Exit code 1: not confirmed, 2: the cluster cannot be used, or the queue does not exist.
    """
    set_stop_policy("resume", (queue, namespace), NONE, Confirmation(dry_run, yes), (kubeconfig, context))
