"""`sluice stop`: let a queue admit no workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from webhook.cli.live.confirmed import Confirmation, changing, queue_namespace, set_stop_policy
from webhook.cli.live.steering import DRAIN, HOLD
from webhook.cli.option_types import TEXT

EXAMPLES: Final = (
    "  sluice stop gpu-queue                 admit nothing; running jobs continue\n"
    "  sluice stop gpu-queue --drain         evict running jobs too\n"
    "  sluice stop team-a-queue -n team-a    only the LocalQueue"
)


@changing("stop", EXAMPLES)
@click.argument("queue", type=TEXT)
@queue_namespace
@click.option("--drain", is_flag=True, help="Also evict running workloads.")
def stop(
    queue: str, namespace: str | None, drain: bool, dry_run: bool, yes: bool, kubeconfig: Path | None,
    context: str | None,
) -> None:  # fmt: skip
    """Stop a queue: it admits no workloads until it is resumed.

    Exit code 1: not confirmed, 2: the cluster cannot be used, or the queue does not exist.
    """
    policy = DRAIN if drain else HOLD
    set_stop_policy("stop", (queue, namespace), policy, Confirmation(dry_run, yes), (kubeconfig, context))
