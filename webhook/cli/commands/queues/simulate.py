"""`sluice simulate`: a trace against queues and rules in virtual time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from webhook.api.configuration.sections import QueueSettings
from webhook.api.conversion.convert import ConversionError
from webhook.api.snapshot.reader import snapshot
from webhook.cli import completions, exits
from webhook.cli.console import Console
from webhook.cli.inputs import Inputs
from webhook.cli.option_types import FILE, TEXT, THERE, TIME, Made, Read, files_option, output_option, rules_option
from webhook.cli.repository import Repository, queue_rules, repository
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.offline.files import read_files, text_of
from webhook.offline.plan.objects import cluster_of
from webhook.offline.plan.rule_sets import title
from webhook.offline.reports.simulation import document, tables
from webhook.offline.unreadable_objects import readable
from webhook.policy.loading.no_object import is_object
from webhook.queue.model import Snapshot
from webhook.simulate import simulation as virtual
from webhook.simulate.generate import generate
from webhook.simulate.plot import plot
from webhook.simulate.simulation import SimulationResult
from webhook.simulate.summary import summarise
from webhook.simulate.trace import Arrival, as_counted, read_trace
from webhook.simulate.unknown_names import unknown_names

GENERATORS = (".yaml", ".yml")

ROWS = ("queue", "class")


def rows(text: str) -> tuple[str, ...]:
    """Read what the rows of the table are. Raises ValueError."""
    found = tuple(part.strip() for part in text.split(","))
    if not set(found) <= set(ROWS):
        raise ValueError(f'"{text}" is not one of {", ".join(ROWS)}, {",".join(ROWS)}')
    return found


EXAMPLES: Final = """\b
Examples:
  sluice simulate trace.csv -f cluster/queues.yaml
  sluice simulate load.yaml --compare kueue kueue-fair --plot waits.svg
  sluice simulate trace.swf -f now.yaml --compare-queues tomorrow.yaml
"""


@dataclass(frozen=True, slots=True)
class SimulatedQueues:
    """Queues, and the settings by which they count what jobs request; None: the defaults."""

    snapshot: Snapshot
    settings: QueueSettings | None

    def counted(self, arrivals: Iterable[Arrival]) -> list[Arrival]:
        """Return the arrivals with what these queues count of their requests."""
        resources = (self.settings or QueueSettings()).resources
        return [as_counted(arrival, resources) for arrival in arrivals]


@click.command("simulate", epilog=EXAMPLES)
@click.argument("trace", type=FILE)
@files_option()
@rules_option("names")
@click.option("--compare", nargs=2, type=TEXT, metavar="A B", shell_complete=completions.rule_sets,
              help="Compare two sets of rules (NAME|FILE, joined with +).")  # fmt: skip
@click.option("--compare-queues", type=THERE, help="Compare the queues of -f with these: a file or folder.")
@click.option(
    "--by",
    type=Read("rows", rows),
    default="queue,class",
    show_default=True,
    help="Rows of the table: queue, class, or both.",
)
@click.option("--begin", type=TIME, default="1970-01-01T00:00:00Z", show_default=True,
              help="Time at which the trace begins, for rules that look at the clock (RFC 3339).")  # fmt: skip
@click.option("--plot", "picture", type=Made(), help="File for a plot (SVG).")
@output_option("text", "json")
def simulate(
    trace: Path,
    files: tuple[str, ...],
    names: tuple[str, ...],
    compare: tuple[str, str] | None,
    compare_queues: Path | None,
    by: tuple[str, ...],
    begin: int,
    picture: Path | None,
    output: str,
) -> None:
    """Simulate TRACE and report waiting times, preemptions, quota usage and fairness.

    TRACE is CSV (`.csv`), JSON lines, the standard workload format (`.swf`), or a generator file (`.yaml`), which also
    defines the queues; otherwise -f gives the queues. The same input gives the same output.
    """
    if compare and compare_queues:
        raise click.UsageError("use --compare or --compare-queues, not both")
    if compare and not all(name for names in compare for name in names.split("+")):
        raise click.UsageError("--compare: a name of rules is empty")
    within = repository((), names)
    try:
        queues, arrivals = _load(trace, files, within)
        if not arrivals:
            click.echo(f"sluice simulate: no jobs in {trace}", err=True)
            sys.exit(exits.NOTHING_TO_RUN)
        tried = [queues, *([_queues((str(compare_queues),), within)] if compare_queues else [])]
        counted = [given.counted(arrivals) for given in tried]
        told = (unknown_names(q.snapshot, jobs, str(trace)) for q, jobs in zip(tried, counted, strict=True))
        if wrong := list(chain.from_iterable(told)):
            raise SourceError(wrong)
        queue_files = [Path(name) for name in files if name != "-"] + ([compare_queues] if compare_queues else [])
        with readable(lambda: read_files(queue_files).documents):
            chosen = compare or ("+".join(within.rules),)
            runs = [(q, jobs, rules) for q, jobs in zip(tried, counted, strict=True) for rules in chosen]
            outcomes = [_run(*run, begin, _name(i, run[2], compare_queues)) for i, run in enumerate(runs)]
    except (SourceError, ConversionError) as error:
        click.echo(str(error), err=True)
        sys.exit(exits.BAD_INPUT)
    summaries = [summarise(o, by) for o in outcomes]
    if picture:
        picture.write_text(plot(outcomes), encoding="utf-8")
    if output == "json":
        click.echo(json.dumps(document(summaries), indent=2))
        return
    console = Console(width=None if sys.stdout.isatty() else 160, markup=False)
    for table in tables(summaries):
        console.print(table)
        console.print()


def _name(i: int, rules: str, other: Path | None) -> str:
    """Name a run: by its rules, or by its queues where those differ."""
    return title(rules.split("+")) if other is None else ("queues of -f", f"queues of {other.name}")[i]


def _load(trace: Path, files: tuple[str, ...], within: Repository) -> tuple[SimulatedQueues, tuple[Arrival, ...]]:
    """Read the trace and the queues; queues of files go before those of a generator file. Raises SourceError."""
    text = text_of(trace, str(trace))
    if trace.suffix not in GENERATORS:
        if not files:
            raise click.UsageError("a trace has no queues; use -f FILE")
        return _queues(files, within), tuple(read_trace(text, str(trace)))
    documents = read(text, str(trace))
    if len(documents) != 1:
        raise click.UsageError(f"{trace} has {len(documents)} documents; a generator file must have one")
    if is_object(documents[0].value):
        raise click.UsageError(f"{trace} is a Kubernetes object, not a trace; give objects with -f")
    made = generate(documents[0])
    return (_queues(files, within) if files else SimulatedQueues(made.snapshot, within.settings)), made.arrivals


def _queues(files: tuple[str, ...], within: Repository) -> SimulatedQueues:
    given = Inputs(files)
    with readable(given.documents):
        objects = given.objects()
        queues = snapshot(cluster_of(objects, settings=within.settings).objects, within.settings)
    return SimulatedQueues(replace(queues, workloads=()), within.settings_for(objects))  # the trace has the jobs


def _run(queues: SimulatedQueues, arrivals: Sequence[Arrival], names: str, begin: int, name: str) -> SimulationResult:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(name, total=len(arrivals))
        rules = queue_rules(repository((), names.split("+")), queues.settings)
        return virtual.simulate(
            queues.snapshot, arrivals, rules, name, lambda done: bar.update(task, completed=done), begun=begin
        )
