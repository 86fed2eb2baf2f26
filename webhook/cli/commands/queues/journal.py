"""`sluice journal`: what the queues decided: shown, explained, exported, replayed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import orjson

from webhook.api.amounts import text
from webhook.api.job_to_workload import is_named_after
from webhook.api.pending_message import message_of
from webhook.cli import exits
from webhook.cli.option_types import TEXT, THERE, TIME, output_option, rules_option
from webhook.cli.progress import Progress
from webhook.cli.repository import queue_rules, repository, rules_as_configured
from webhook.diagnostics import Diagnostic, SourceError
from webhook.journal.compare import Agreement, Compared, ComparedKind, StartComparison
from webhook.journal.follow import steps
from webhook.journal.read import JournalFile, journal_files, readable
from webhook.journal.records import Decided, Record
from webhook.journal.replay import Replayed, in_order, replay
from webhook.journal.replay import until as read_until
from webhook.journal.timeline import TimelineEntry, timeline
from webhook.journal.trace import TracedRuns
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.offline.plan.output import moment as written
from webhook.policy.queue_rules.configured import Configured
from webhook.queue.explain import pending
from webhook.queue.pending.queue import Status
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.simulate.trace import arrival_of, row_of

SHOWN: Final = 20
OF_THE_JOURNAL: Final = "those of the journal"
EXAMPLES: Final = """\b
Examples:
  sluice journal show journal --workload team-a/train-7
  sluice journal show journal --workload team-a/train-7 --at 2026-11-17T14:00Z
  sluice journal export journal > trace.jsonl
  sluice journal replay leader-1/journal leader-2/journal
  sluice journal compare journal
"""
SHOW_EXAMPLES: Final = """\b
Examples:
  sluice journal show journal --workload team-a/train-7
  sluice journal show journal --workload team-a/train-7 --at 2026-11-17T14:00Z
"""
EXPORT_EXAMPLES: Final = """\b
Examples:
  sluice journal export journal > trace.jsonl
  sluice simulate trace.jsonl -f cluster/queues.yaml --compare kueue kueue-fair
"""
REPLAY_EXAMPLES: Final = """\b
Examples:
  sluice journal replay leader-1/journal leader-2/journal
  sluice journal replay journal --rules kueue-fair
"""
COMPARE_EXAMPLES: Final = """\b
Examples:
  sluice journal compare journal
  sluice journal compare journal --since 2026-11-17T00:00Z -o json
"""


@click.group(name="journal", epilog=EXAMPLES)
def journal_command() -> None:
    """Show and replay the queue's past decisions.

    FILES are journals that `sluice serve --journal-folder` writes: folders of several replicas, or single files. They
    are read in the order of the leaders' epochs.
    """


@journal_command.command(epilog=SHOW_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=THERE)
@click.option(
    "--workload", type=TEXT, metavar="NAMESPACE/NAME", help="Only this workload, by its own name or its job's."
)
@click.option("--since", type=TIME, help="Only from this time on (RFC 3339).")
@click.option("--until", type=TIME, help="Only up to this time (RFC 3339).")
@click.option("--at", type=TIME, help="Explain why the workload was pending at this time (RFC 3339).")
@rules_option("names", OF_THE_JOURNAL)
@output_option("text", "json")
def show(
    files: tuple[Path, ...], workload: str | None, since: int | None, until: int | None, at: int | None,
    names: tuple[str, ...], output: str,
) -> None:  # fmt: skip
    """Show what happened, or why a workload was pending at a time.

    Exit code 2: a file cannot be used, 3: no events found.
    """
    if at is not None and workload is None:
        raise click.UsageError("--at requires --workload")
    with _reading(files) as (found, wrong):
        if at is not None and workload is not None:
            then = _at(found, wrong, workload, at, names)
            click.echo(orjson.dumps(then).decode() if output == "json" else "\n".join(_told(then)))
            return
        told = 0
        for entry in timeline(steps(readable(found, wrong))):
            told_of = workload is None or _is_named(entry.workload, workload)
            if told_of and (since or 0) <= entry.at <= (until or entry.at):
                click.echo(_json(entry) if output == "json" else _line(entry))
                told += 1
        if not told:
            click.echo("sluice journal show: no events found", err=True)
            sys.exit(exits.NOTHING_TO_RUN)


@journal_command.command(epilog=EXPORT_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=THERE)
def export(files: tuple[Path, ...]) -> None:
    """Write the jobs that finished as a trace for `sluice simulate`: JSON lines.

    Exit code 2: a file cannot be used, 3: no job finished.
    """
    with _reading(files) as (found, wrong):
        traced = TracedRuns()
        for step in steps(readable(found, wrong)):
            traced.take(step)
        ran = traced.ran()
        begun = ran[0].arrived if ran else 0
        for run in ran:
            row = row_of(arrival_of(run.workload, run.arrived - begun, run.run_time))
            click.echo(json.dumps(row, ensure_ascii=False))
        if ran:
            click.echo(f"sluice journal export: the trace begins at {written(begun)}; see simulate --begin", err=True)
        else:
            click.echo("sluice journal export: no job finished", err=True)
            sys.exit(exits.NOTHING_TO_RUN)


@journal_command.command(name="replay", epilog=REPLAY_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=THERE)
@rules_option("names", OF_THE_JOURNAL)
def replay_journal(files: tuple[Path, ...], names: tuple[str, ...]) -> None:
    """Decide again from the same facts at the same times, and print what differs.

    With the journal's own rules nothing differs. With other rules only the first effect is shown; use `sluice simulate`
    for the rest.

    Exit code 0: all decisions are the same, 1: some differ, 2: a file cannot be used, 3: no journal.
    """
    with _reading(files) as (found, wrong):
        calls = decisions = 0
        different: list[Replayed] = []
        with Progress() as progress:
            for file in found:
                progress.step(len(found), file.path.name)
                for call in replay(readable([file], wrong), _rules(file, names)):
                    calls, decisions = calls + 1, decisions + call.then.count
                    if not call.same:
                        different.append(call)
        for call in different[:SHOWN]:
            click.echo("\n".join(_difference(call)))
        if len(different) > SHOWN:
            click.echo(f"... and {len(different) - SHOWN:,} more")
        differ = "1 round differs" if len(different) == 1 else f"{len(different):,} rounds differ"
        of = f"{len(found)} file{'' if len(found) == 1 else 's'}"
        click.echo(f"{decisions:,} decisions in {calls:,} rounds of {of}: {differ if different else 'all the same'}")
        sys.exit(exits.FAILED if different else exits.PASSED)


@journal_command.command(epilog=COMPARE_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=THERE)
@click.option("--since", type=TIME, help="Only from this time on (RFC 3339).")
@click.option("--until", type=TIME, help="Only up to this time (RFC 3339).")
@output_option("text", "json")
def compare(files: tuple[Path, ...], since: int | None, until: int | None, output: str) -> None:
    """Compare what Kueue decided with what Sluice would have decided (mode `external`).

    equal: the same jobs at the same time. better: Sluice would have admitted the job earlier. worse: Sluice would have
    kept the job pending, or not have preempted it. FILES are those of one replica.

    Exit code 2: a file cannot be used, 3: nothing to compare.
    """
    with _reading(files) as (journals, wrong):
        comparison = StartComparison()
        records = readable(journals, wrong)
        compared = map(comparison.record, records if until is None else read_until(records, until))
        found = [row for row in compared if row and (since or 0) <= row.at]
        waiting = comparison.wanted()
        if not found and not waiting:
            click.echo("sluice journal compare: Kueue admitted nothing in this period", err=True)
            sys.exit(exits.NOTHING_TO_RUN)
        for line in _rows(found, waiting) if output == "json" else _report(found, waiting):
            click.echo(line)


def _rows(found: Sequence[Compared], waiting: Sequence[Compared]) -> Iterator[str]:
    for row in (*found, *waiting):
        fields = {"time": written(row.at), "what": row.what, "outcome": row.outcome, "workload": row.workload}
        yield orjson.dumps({**fields, "queue": row.queue, "seconds": row.earlier / 1000, "detail": row.detail}).decode()


def _report(found: Sequence[Compared], waiting: Sequence[Compared]) -> Iterator[str]:
    """Yield the counts, then the jobs that are not equal; of each kind the first ones."""
    starts = [row for row in found if row.what is ComparedKind.START]
    told = {outcome: [row for row in starts if row.outcome is outcome] for outcome in Agreement}
    better = told[Agreement.BETTER]
    earlier = f", {sum(row.earlier for row in better) / 1000 / len(better):,.0f} s earlier on average" if better else ""
    yield f"{len(starts):,} starts"
    yield f"  equal   {len(told[Agreement.EQUAL]):,}"
    yield f"  better  {len(better):,}{earlier}"
    yield f"  worse   {len(told[Agreement.WORSE]):,}"
    if victims := [row for row in found if row.what is ComparedKind.PREEMPTION]:
        same = sum(row.outcome is Agreement.EQUAL for row in victims)
        yield f"{len(victims):,} preemptions: {same:,} equal, {len(victims) - same:,} worse"
    yield f"{len(waiting):,} pending in Kueue that Sluice would admit now"
    different = [row for row in (*found, *waiting) if row.outcome is not Agreement.EQUAL or row.detail]
    for row in different[:SHOWN]:
        late = f"{row.earlier / 1000:,.0f} s earlier" if row.earlier else ""
        parts = (row.outcome, row.what, row.workload, row.queue, late, row.detail)
        yield f"{written(row.at)}  {'  '.join(part for part in parts if part)}"
    if len(different) > SHOWN:
        yield f"... and {len(different) - SHOWN:,} more; -o json has all"


@contextmanager
def _reading(paths: Sequence[Path]) -> Iterator[tuple[list[JournalFile], list[Diagnostic]]]:
    """Find the files of a journal; ends the program where there are none.

    What cannot be read is noted in the list, and told last: SourceError, whatever the command found in the rest.
    """
    wrong: list[Diagnostic] = []
    found = journal_files(paths, wrong)
    try:
        if not found and not wrong:
            click.echo("sluice journal: no journal in these paths", err=True)
            sys.exit(exits.NOTHING_TO_RUN)
        if found:
            yield found, wrong
    except SystemExit:
        if not wrong:
            raise
    if wrong:
        raise SourceError(wrong)


def _rules(file: JournalFile, names: Sequence[str]) -> Rules:
    """Return the rules that were named, else those of a file. Raises SourceError."""
    within, begin = repository((), names), file.begin
    if names:
        return queue_rules(within)
    return rules_as_configured(within, Configured(begin.rules, begin.parameters, begin.settings))


def _line(entry: TimelineEntry) -> str:
    parts = (entry.what, entry.workload, entry.queue, entry.detail)
    return f"{written(entry.at)}  {'  '.join(part for part in parts if part)}"


def _json(entry: TimelineEntry) -> str:
    fields = {"time": written(entry.at), "what": entry.what, "workload": entry.workload}
    return orjson.dumps({**fields, "queue": entry.queue, "detail": entry.detail}).decode()


def _is_named(key: str, wanted: str) -> bool:
    """Return whether a Workload, `namespace/name`, is the one asked for, by its own name or its job's."""
    (namespace, _, name), (asked, _, job) = key.partition("/"), wanted.partition("/")
    return key == wanted or (namespace == asked and is_named_after(name, job))


def _at(
    files: Sequence[JournalFile], wrong: list[Diagnostic], workload: str, at: int, names: Sequence[str]
) -> dict[str, Any]:
    """Bring the state to where it stood at a time, and explain a workload there. Raises a usage error."""
    before = [file for file in files if file.begin.at <= at]
    if not before:
        raise click.UsageError(f"the journal begins at {written(files[0].begin.at)}")
    last = before[-1]
    state: State | None = None
    rounds = [last.begin.at]
    for call in replay(read_until(_noting(readable([last], wrong), rounds), at), _rules(last, names)):
        state = call.state
    if last is files[-1] and rounds[-1] < at:
        click.echo(f"note: the journal ends at {written(rounds[-1])}; this is the state then", err=True)
    entries = state.entries.values() if state is not None else ()
    named = [entry for entry in entries if _is_named(entry.key, workload)]
    entry = max(named, key=lambda entry: (entry.key == workload, entry.workload.created), default=None)
    found = {"time": written(at), "workload": entry.key if entry is not None else workload}
    if state is None or entry is None:
        return {**found, "state": "Unknown"}
    if entry.status == Status.HOLDING and entry.admission is not None:
        held = entry.admission
        return {
            **found,
            "state": QUOTA_RESERVED,
            "clusterQueue": held.cluster_queue,
            "since": written(held.reserved_at),
        }
    told = next((p for p in pending(state) if p.workload == entry.key), None)
    if told is None:
        return {**found, "state": "NotPending"}
    return {
        **found,
        "state": "Pending",
        "clusterQueue": told.cluster_queue,
        "position": told.position,
        "reason": told.reason,
        "message": message_of(told),
        "holders": [
            {
                "workload": holder.workload,
                "amount": text(shortage.resource, holder.amount),
                "resource": shortage.resource,
                "flavor": shortage.flavor,
            }
            for shortage in told.shortages
            for holder in shortage.holders
        ],
    }


def _noting(records: Iterable[Record], rounds: list[int]) -> Iterator[Record]:
    """Yield records, and note the times of rounds: the last one noted may be the first that is not asked for."""
    for record in records:
        if isinstance(record, Decided):
            rounds.append(record.now)
        yield record


def _told(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what `_at` found, in lines."""
    workload, state = found["workload"], found["state"]
    if state == QUOTA_RESERVED:
        yield f"{workload} has held quota in {found['clusterQueue']} since {found['since']}"
    elif state != "Pending":
        yield f"{workload} is not {'known' if state == 'Unknown' else 'pending'} at {found['time']}"
    else:
        place = f", position {found['position']}" if found["position"] else ""
        yield f"{workload} is pending in {found['clusterQueue']}{place}: {found['reason']}"
        if found["message"]:
            yield found["message"]
        for holder in found["holders"]:
            yield f"  {holder['workload']} holds {holder['amount']} {holder['resource']} of {holder['flavor']}"


def _difference(call: Replayed) -> Iterator[str]:
    then, now = in_order(call.then), in_order(call.now)
    yield written(call.then.now)
    for sign, mine, other in (("-", then, now), ("+", now, then)):
        for part in ("admitted", "preempted", "evicted", "ready"):
            for decision in getattr(mine, part):
                if decision not in getattr(other, part):
                    yield f"  {sign} {part} {decision.workload} in {decision.cluster_queue}"
