"""`sluice why`: why a job of a cluster is pending, with what must end first."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import orjson

from webhook.api.state_of_workload import workload_state
from webhook.api.workload_owner import is_named, require_one_job
from webhook.cli import exits
from webhook.cli.live.cluster_state import OF_THE_CORE, WITH_JOBS, ClusterState, cluster_state
from webhook.cli.live.explained import decided, lines, record, unqueued
from webhook.cli.live.rules_in_force import in_force
from webhook.cli.live.session import ask, namespace_of, namespace_option
from webhook.cli.live.steering import workload_of
from webhook.cli.option_types import TEXT, cluster_options, output_option, rules_option
from webhook.cli.terminal_text import visible
from webhook.offline.dryrun.missing import has_opted_in, unmanaged
from webhook.offline.plan.objects import Cluster, cluster_of
from webhook.store.errors import NotFound
from webhook.store.objects import Object, ObjectStore

EXAMPLES: Final = """\b
Examples:
  sluice why train-7b                  a job or a Workload
  sluice why PyTorchJob/train-7b -n team-a -o json
"""


@click.command(epilog=EXAMPLES)
@click.argument("job", type=TEXT, metavar="[KIND/]JOB")
@namespace_option
@rules_option("names", "those in force, as the leader's Lease names them, else those of .sluice.yaml")
@output_option("text", "json")
@cluster_options
def why(
    job: str, namespace: str | None, names: tuple[str, ...], output: str, kubeconfig: Path | None, context: str | None
) -> None:
    """Explain why a job is pending: what it requests, what is free, what must end first.

    Prints what its Workload says. Where you may read the queues, the core then decides on a copy of the cluster's
    objects: position, holders, rule and estimate. Nothing is written.

    Exit code 2: the cluster cannot be read, or the job is in no queue.
    """
    inside = namespace or namespace_of(kubeconfig, context)
    told, notes = ask("why", lambda store: explained(store, job, inside, names), kubeconfig, context)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    if isinstance(told, str):
        click.echo(f"sluice why: {told}", err=True)
        sys.exit(exits.BAD_INPUT)
    as_json = output == "json"
    click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode() if as_json else visible("\n".join(lines(told))))


async def explained(
    store: ObjectStore, job: str, namespace: str, names: Sequence[str]
) -> tuple[dict[str, Any] | str, list[str]]:
    """Return the explanation of a job, a sentence if no queue holds it, and notes on what was not known.

    Raises StoreError, ValueError, SourceError.
    """
    try:
        stored = await workload_of(store, job, namespace)
    except NotFound:
        stored = None
    if stored is not None and workload_state(stored)[0] != "Pending":
        return record(stored, {}), []
    state = await cluster_state(store, OF_THE_CORE if stored is not None else WITH_JOBS)
    if stored is not None and state.lacks:
        return record(stored, {}), [_undecided(state)]
    force = await in_force(store, names)
    cluster = cluster_of(state.objects, stored=True, settings=force.settings)
    found = stored or _made(cluster, job, namespace)
    if found is None:
        return unqueued(state.objects, job, namespace), state.notes()
    told = record(found, cluster.jobs)
    if state.lacks:
        return told, [_undecided(state)]
    told["decision"] = decided(cluster.objects, told["workload"], force, datetime.now(UTC))
    return told, [*state.notes(), *force.notes, *(_unasked(state.objects, namespace) if not told["conditions"] else ())]


def _undecided(state: ClusterState) -> str:
    return f"you may not list {', '.join(state.lacks)}: only what the Workload says is shown"


def _unasked(objects: Iterable[Object], namespace: str) -> Iterator[str]:
    """Yield a note for each namespace that has not opted in although it has a job that was not handled."""
    found = next((obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == ("Namespace", namespace)), None)
    if found is not None and not has_opted_in(found):
        yield unmanaged([namespace])


def _made(cluster: Cluster, job: str, namespace: str) -> Object | None:
    """Return the Workload that a job is about to get. Raises ValueError where jobs of several kinds have the name."""
    made = [obj for obj in cluster.objects if obj["kind"] == "Workload" and is_named(obj, job, namespace)]
    require_one_job(made, job, namespace)
    return next(iter(made), None)
