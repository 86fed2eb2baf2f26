"""`sluice plan`: the objects of a cluster in, queue decisions out."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import orjson
from click.core import ParameterSource

from webhook import setting_values
from webhook.api.conversion.convert import ConversionError
from webhook.api.snapshot.reader import snapshot
from webhook.cli import exits
from webhook.cli.console import Console
from webhook.cli.inputs import AROUND_KINDS, QUEUE_KINDS, Inputs, json_lines
from webhook.cli.live.cluster_state import WITH_JOBS, ClusterState, cluster_state
from webhook.cli.live.rules_in_force import InForce, in_force
from webhook.cli.live.session import ask
from webhook.cli.option_types import (
    ROWS,
    TIME,
    Read,
    Renamed,
    files_option,
    live_options,
    not_live,
    output_option,
    rules_option,
)
from webhook.cli.repository import Repository, queue_rules, repository
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document, dump
from webhook.offline.plan.batch import answer_case, answer_trace
from webhook.offline.plan.make_plan import QueuePlan, make_plan
from webhook.offline.plan.missing import missing
from webhook.offline.plan.objects import Cluster, cluster_of
from webhook.offline.plan.output import document
from webhook.offline.plan.tables import summary, tables
from webhook.offline.unreadable_objects import malformed, readable
from webhook.store.errors import Refused
from webhook.store.objects import ObjectStore

STABLE = "until-stable"
KUBECTL = f"kubectl get -A -o yaml {QUEUE_KINDS},{AROUND_KINDS},workloads,jobs"


def cycles(value: object) -> int:
    """Read a number of cycles; 0 stands for `until-stable`. Raises ValueError."""
    if value in (STABLE, 0):
        return 0
    try:
        return setting_values.whole(value, 1, 1_000_000)
    except ValueError as error:
        raise ValueError(f"{error}, or {STABLE}") from None


EXAMPLES: Final = f"""\b
Examples:
  sluice plan -f cluster/ -f jobs.yaml                admitted, pending, and why
  kubectl get {QUEUE_KINDS} -A -oyaml > q.yaml
  kubectl get {AROUND_KINDS} -A -oyaml > a.yaml
  kubectl get workloads,jobs -A -ojson | sluice plan -f q.yaml -f a.yaml -f -
  sluice plan --live --context prod --rules kueue-fair
"""


@click.command(epilog=EXAMPLES)
@click.pass_context
@files_option()
@live_options
@rules_option("names")
@click.option("--cycles", "most", type=Read("N|until-stable", cycles), metavar="N|until-stable",
              default=STABLE, show_default=True, help="Number of cycles to run.")  # fmt: skip
@click.option("--now", type=TIME, help="Time of the decision (RFC 3339).  [default: now]")
@output_option("text", "json", "yaml")
@click.option("--batch", type=ROWS, metavar="FILE",
              help="Decide cases: JSON lines in, one answer per line. No other options.")  # fmt: skip
@click.option("--traces", cls=Renamed, former=["--trace"], type=ROWS, metavar="FILE",
              help="Decide traces: JSON lines in, one answer per line. No other options.")  # fmt: skip
def plan(
    ctx: click.Context,
    files: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    names: tuple[str, ...],
    most: int,
    now: int | None,
    output: str,
    batch: str | None,
    traces: str | None,
    *,
    live: bool,
) -> None:
    """Show which workloads are admitted, pending or preempted. Nothing is written.

    Reads queues, workloads and jobs as `kubectl get -o yaml` prints them, or with --live from a cluster, by the rules
    in force there. NAME is a shipped rule set (`kueue`, `kueue-fair`, `fifo`, `volcano-proportion`, ...).

    Exit code 0: decided, 2: a file cannot be used, 3: no objects.
    """
    if batch is not None:
        _alone(ctx, "batch")
        _lines(batch, _case)
        return
    if traces is not None:
        _alone(ctx, "traces")
        _lines(traces, _trace)
        return
    not_live(live=live, kubeconfig=kubeconfig, context=context)
    if files and live:
        raise click.UsageError("use -f or --live, not both; `sluice dry-run --live -f FILE` tries a job in a cluster")
    if not files and not live:
        raise click.UsageError(f"no objects given; use --live, or -f FILE with the output of `{KUBECTL}`")
    given = Inputs(files)
    try:
        with all_kept(), readable(given.documents):
            within = repository((), names)
            found, force = _of_cluster(kubeconfig, context, names) if live else _of_files(given, within)
            before = snapshot(found.objects, force.settings)
            found = replace(found, objects=())
            made = make_plan(before, force.rules, _now() if now is None else now, most or None)
    except (SourceError, ConversionError, ValueError, OSError) as error:
        click.echo(str(error), err=True)
        sys.exit(exits.BAD_INPUT)
    _show(made, found, output)


def _of_files(given: Inputs, within: Repository) -> tuple[Cluster, InForce]:
    """Read the objects of files, and what is in force; ends the program where there are none. Raises SourceError."""
    objects = given.objects()
    if not objects and not given.documents():  # an empty List is a cluster without jobs
        click.echo("sluice plan: no objects in these files", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    if malformed(Document(obj, "") for obj in objects) and (wrong := malformed(given.documents())):
        raise SourceError(wrong)  # the documents have the places
    force = InForce(queue_rules(within, within.settings_for(objects)), within.settings)
    found = cluster_of(objects, settings=within.settings)
    for note in missing(objects, found):
        click.echo(f"note: {note}", err=True)
    return found, force


def _of_cluster(kubeconfig: Path | None, context: str | None, names: Sequence[str]) -> tuple[Cluster, InForce]:
    """Read the objects of a cluster, and what is in force there; what is not known is said. Raises SourceError."""

    async def read(store: ObjectStore) -> tuple[ClusterState, InForce]:
        state = await cluster_state(store, WITH_JOBS)
        if state.lacks:
            raise Refused(f"you may not list {', '.join(state.lacks)}, without which nothing can be decided")
        return state, await in_force(store, names)

    state, force = ask("plan", read, kubeconfig, context)
    for note in (*state.notes(), *force.notes):
        click.echo(f"note: {note}", err=True)
    return cluster_of(state.objects, stored=True, settings=force.settings), force


def _show(made: QueuePlan, cluster: Cluster, output: str) -> None:
    value = document(made, cluster.jobs)
    if output == "json":
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    elif output == "yaml":
        click.echo(dump(value), nl=False)
    else:
        console = Console(width=None if sys.stdout.isatty() else 160, markup=False)
        for table in tables(made, cluster.jobs):
            console.print(table)
            console.print()
        console.print(summary(made), highlight=False)
        if cluster.by_parts:
            console.print(f"not queued themselves: {', '.join(cluster.by_parts)}", highlight=False)
        if cluster.unqueued:
            console.print(f"not queued (no queue name): {', '.join(cluster.unqueued)}", highlight=False)


@contextmanager
def all_kept() -> Iterator[None]:
    """Run a block whose objects stay until its end: looking for garbage among them before would find none."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
        gc.collect()


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def _alone(ctx: click.Context, option: str) -> None:
    """Refuse options beside --batch or --traces, whose lines say everything themselves."""
    for param in ctx.command.params:
        if param.name != option and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
            way = f"each line has its own objects, rules and time; leave out {param.opts[-1]}"
            raise click.UsageError(f"--{option} and {param.opts[-1]} cannot be combined: {way}")


def _lines(name: str, answer: Callable[[dict[str, Any], Place], dict[str, Any]]) -> None:
    """Answer each case or trace on a line of its own; ends the program at one that is none."""
    try:
        for place, line in json_lines(name):
            click.echo(json.dumps(_checked(line, place, answer), sort_keys=True))
    except SourceError as error:
        click.echo(error.render(), err=True)
        sys.exit(exits.BAD_INPUT)


def _checked(
    line: dict[str, Any], place: Place, answer: Callable[[dict[str, Any], Place], dict[str, Any]]
) -> dict[str, Any]:
    """Answer one line. Raises SourceError where it is no case or trace."""
    if "id" not in line or not isinstance(line.get("objects"), list):
        hint = 'a case is {"id": "...", "objects": [...]}, and optional now, fairSharing and featureGates'
        raise SourceError([Diagnostic("INP001", place, "a case requires an id and a list of objects", hint=hint)])
    try:
        if wrong := malformed([_brought(line, place)]):
            raise SourceError(wrong)
        with readable(lambda: [_brought(line, place)]):
            return answer(line, place)
    except (ConversionError, ValueError) as error:
        raise SourceError([Diagnostic("INP001", place, str(error))]) from None


def _brought(line: dict[str, Any], place: Place) -> Document:
    """Return the objects of a case or a trace, and those that the events of a trace bring, as one document."""
    steps = line["steps"] if isinstance(line.get("steps"), list) else []
    events = [step.get("events") for step in steps if isinstance(step, dict)]
    found = [event for listed in events if isinstance(listed, list) for event in listed]
    applied = [event["apply"] for event in found if isinstance(event, dict) and "apply" in event]
    return Document({"apiVersion": "v1", "kind": "List", "items": [*line["objects"], *applied]}, str(place))


def _case(case: dict[str, Any], _: Place) -> dict[str, Any]:
    return answer_case(case, _now() if case.get("now") is None else setting_values.moment(case["now"]))


def _trace(trace: dict[str, Any], place: Place) -> dict[str, Any]:
    steps = trace.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) and "now" in step for step in steps):
        hint = 'a trace is {"id": "...", "objects": [...], "steps": [{"now": "...", "events": [...]}, ...]}'
        raise SourceError(
            [Diagnostic("INP001", place, "a trace requires a list of steps, each with a time", hint=hint)]
        )
    return answer_trace(trace, tuple(setting_values.moment(step["now"]) for step in steps))
