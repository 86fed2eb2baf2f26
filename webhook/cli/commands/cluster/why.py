"""`sluice why`: why a job of a cluster waits, with what must end first."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import orjson

from webhook.api.amounts import text
from webhook.api.conversion.convert import ConversionError
from webhook.api.snapshot.reader import snapshot
from webhook.api.state_of_workload import workload_state
from webhook.cli import exits
from webhook.cli.completions import rules
from webhook.cli.live.session import cluster_options, namespace_of, namespace_option
from webhook.cli.option_types import RULES_HELP, TEXT
from webhook.cli.repository import queue_rules, repository
from webhook.diagnostics import SourceError
from webhook.offline.plan.make_plan import make_plan
from webhook.offline.plan.objects import cluster_of, is_named, owner_of
from webhook.offline.plan.output import document, moment
from webhook.queue.decisions import Pending
from webhook.queue.rules import Rules
from webhook.store.errors import StoreError
from webhook.store.objects import Object

EXAMPLES: Final = """\b
Examples:
  sluice why train-7b                  a job, or a Workload
  sluice why PyTorchJob/train-7b -n team-a -o json
"""


@click.command(epilog=EXAMPLES)
@click.argument("job", metavar="[KIND/]JOB")
@namespace_option
@click.option("--rules", "names", multiple=True, type=TEXT, shell_complete=rules, metavar="NAME|FILE", help=RULES_HELP)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Output format.")  # fmt: skip
@cluster_options
def why(
    job: str, namespace: str | None, names: tuple[str, ...], output: str, kubeconfig: Path | None, context: str | None
) -> None:
    """Explain why a job waits: what it asks, what is free, what must end first.

    Decides on a copy of the cluster's objects, by the rules of `--rules` or of .sluice.yaml. Nothing is written.
    """
    inside = namespace or namespace_of(kubeconfig, context)
    try:
        objects = importlib.import_module("webhook.cli.live.cluster_state").objects(kubeconfig, context)
        told = answer(objects, job, inside, queue_rules(repository((), names)), datetime.now(UTC))
    except (SourceError, ConversionError, StoreError, ValueError, OSError) as error:
        click.echo(f"sluice why: {error}", err=True)
        sys.exit(exits.BAD_INPUT)
    if told is None:
        click.echo(f"sluice why: no job or Workload {job} in namespace {inside} waits in a queue, or has", err=True)
        sys.exit(exits.BAD_INPUT)
    click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode() if output == "json" else "\n".join(lines(told)))


def answer(objects: list[Object], job: str, namespace: str, rules: Rules, now: datetime) -> dict[str, Any] | None:
    """Give what there is to say of a job, as plain values; None where there is no such job.

    Raises ValueError or ConversionError where the objects cannot be read.
    """
    cluster = cluster_of(objects, stored=True)
    found = next((w for w in cluster.objects if w["kind"] == "Workload" and is_named(w, job, namespace)), None)
    if found is None:
        return None
    key = f"{namespace}/{found['metadata']['name']}"
    _, kind, name = owner_of(found)
    named = f"{kind} {namespace}/{name}" if kind else cluster.jobs.get(key, f"Workload {key}")
    state, message = workload_state(found)
    told = {"job": named, "workload": key, "queue": str(found["spec"].get("queueName") or ""), "state": state}
    if state != "Pending":
        return {**told, "message": message}
    made = make_plan(snapshot(cluster.objects), rules, int(now.timestamp() * 1000))
    waits = next((row for row in document(made, cluster.jobs)["pending"] if row["workload"] == key), None)
    if waits is None:
        return {**told, "message": "nothing stands in its way: the next round admits it"}
    ahead = sum(p.cluster_queue == waits["clusterQueue"] and p.position > 0 for p in made.pending)
    record = next(p for p in made.pending if p.workload == key)
    return {**told, **waits, "job": named, "waiting": ahead, "holders": list(_holders(record, _jobs(cluster.objects)))}


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Say it in a few lines."""
    if "clusterQueue" not in told:
        yield f"{told['job']}: {told['state']}"
        if told.get("message"):
            yield f"  {told['message']}"
        return
    place = f", position {told['position']} of {told['waiting']}" if told.get("position") else ""
    yield f"{told['job']}: pending in ClusterQueue {told['clusterQueue']}{place}"
    yield f"  {told['reason']}: {told['message'] or 'no message'}"
    for holder in told["holders"]:
        until = f", expected to end {holder['ends']}" if holder.get("ends") else ""
        yield f"  must end first: {holder['job']} holds {holder['amount']} {holder['resource']}{until}"
    if told.get("start"):
        yield f"  estimated start: {told['start']}"


def _jobs(objects: tuple[Object, ...]) -> dict[str, str]:
    """Name the job of each Workload."""
    found = {}
    for workload in (obj for obj in objects if obj["kind"] == "Workload"):
        space, kind, name = owner_of(workload)
        if kind:
            found[f"{space}/{workload['metadata']['name']}"] = f"{kind} {space}/{name}"
    return found


def _holders(pending: Pending, jobs: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for shortage in pending.shortages:
        for holder in shortage.holders:
            ends = {"ends": moment(holder.ends)} if holder.ends is not None else {}
            held = {"amount": text(shortage.resource, holder.amount), "resource": shortage.resource}
            yield {"job": jobs.get(holder.workload, f"Workload {holder.workload}"), **held, **ends}
