"""`sluice replay`: recorded reviews against other policies: which decisions differ, and how long they take."""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.text import Text

from webhook.cli import exits
from webhook.cli.console import Console
from webhook.cli.option_types import (
    THERE,
    allow_missing_option,
    authorized_option,
    objects_option,
    output_option,
    policies_option,
)
from webhook.cli.repository import bundle_of, repository
from webhook.diagnostics import SourceError
from webhook.offline.dryrun.file_facts import FileFacts, known
from webhook.offline.dryrun.missing import missing_facts, told
from webhook.offline.files import objects_of, read_files
from webhook.record.replay import (
    BadRecording,
    ChangedReview,
    RecordedReview,
    Replay,
    percentile,
    read_recording,
    replay,
)

EXAMPLES: Final = """\b
Examples:
  sluice replay recorded/          compare policies/ with what was decided
  sluice replay recorded/reviews.jsonl -p new/ -c cluster.yaml
  sluice replay recorded/ -o json | jq .changed
"""
_SHOWN: Final = 50
_BAD_SHOWN: Final = 10


@click.command(name="replay", epilog=EXAMPLES)
@click.argument("recordings", nargs=-1, required=True, type=THERE)
@policies_option()
@objects_option()
@authorized_option
@allow_missing_option
@output_option("text", "json")
def replay_command(
    recordings: tuple[Path, ...],
    policies: tuple[Path, ...],
    objects: tuple[Path, ...],
    authorized: bool,
    allow_missing: bool,
    output: str,
) -> None:
    """Run recorded reviews against policies, and print the decisions that would differ, and the latencies.

    RECORDINGS are files of JSON lines as the server records them (also .gz), or folders of such files. Secrets and
    values of environment variables are masked in them.

    Exit code 0: every decision is the same, 1: some differ, 2: a file or a line cannot be used, or
    required objects are missing, 3: nothing was recorded.
    """
    within = repository(policies)
    bundle = bundle_of(within)
    beside = read_files(objects)
    if beside.errors:
        raise SourceError(beside.errors)
    facts = FileFacts(known(bundle, objects_of(beside.documents)), {}, authorized=authorized, settings=within.settings)
    bad: list[BadRecording] = []
    try:
        found = replay(_recorded(recordings, bad), bundle, facts, time.perf_counter, time.time)
    except (OSError, EOFError, zlib.error) as error:
        click.echo(f"sluice replay: {error}", err=True)
        sys.exit(exits.BAD_INPUT)
    _tell_left_out(bad)
    if not found.total:
        if bad:
            sys.exit(exits.BAD_INPUT)
        click.echo("sluice replay: no recorded reviews in these files", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    if output == "json":
        click.echo(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        console = Console(soft_wrap=True, highlight=False)
        for line in lines(found):
            console.print(line)
    missing = () if allow_missing else tuple(missing_facts(facts, bundle))
    if missing:
        click.echo(f"sluice replay: {told(missing)}", err=True)
    sys.exit(exits.FAILED if found.changed else exits.BAD_INPUT if missing or bad else exits.PASSED)


def _tell_left_out(bad: Sequence[BadRecording]) -> None:
    """Say which lines were no recorded reviews; of many the first ones."""
    lines = [str(error) for error in bad[:_BAD_SHOWN]]
    if len(bad) > _BAD_SHOWN:
        lines.append(f"and {len(bad) - _BAD_SHOWN:,} more lines")
    for line in lines:
        click.echo(f"sluice replay: {line} (left out)", err=True)


def _recorded(paths: tuple[Path, ...], bad: list[BadRecording]) -> Iterator[RecordedReview]:
    for path in paths:
        files = sorted(path.glob("*.jsonl*"), reverse=True) if path.is_dir() else [path]
        for file in files:
            with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
                yield from read_recording(stream, str(file), bad.append)


def as_json(found: Replay) -> dict[str, Any]:
    """Return a replay as plain JSON values."""
    return {
        "total": found.total,
        "changed": [_changed(c) for c in found.changed],
        "refusedByQueue": found.by_queue,
        "latencyMs": {"recorded": _latencies(found.before_ms), "replayed": _latencies(found.after_ms)},
    }


def _changed(changed: ChangedReview) -> dict[str, Any]:
    request = changed.recorded.request
    return {
        "kind": request.kind.kind,
        "namespace": request.namespace,
        "name": request.name,
        "operation": request.operation,
        "place": changed.recorded.place,
        "differs": list(changed.fields),
        "recorded": changed.recorded.verdict,
        "replayed": changed.verdict,
    }


def _latencies(values: list[float]) -> dict[str, float]:
    return {f"p{n}": round(percentile(values, n), 3) for n in (50, 95, 99)}


def lines(found: Replay) -> Iterator[Text]:
    """Yield a replay for people: each review that would be decided differently, and the counts."""
    for changed in found.changed[:_SHOWN]:
        request = changed.recorded.request
        name = f"{request.operation} {request.kind.kind} {request.namespace}/{request.name}"
        yield Text.assemble(
            (name, "bold"), ": ", (_headline(changed), "bold red"), (f"  {changed.recorded.place}", "dim")
        )
        for name in changed.fields:
            yield Text(f"  - {name}: {json.dumps(changed.recorded.verdict.get(name), ensure_ascii=False)}", "red")
            yield Text(f"  + {name}: {json.dumps(changed.verdict.get(name), ensure_ascii=False)}", "green")
    if len(found.changed) > _SHOWN:
        yield Text(f"... and {len(found.changed) - _SHOWN:,} more", "dim")
    if found.by_queue:
        yield Text(f"note: {found.by_queue:,} denials came from the queue and are not replayed", "dim")
    for title, values in (("recorded", found.before_ms), ("replayed", found.after_ms)):
        told = ", ".join(f"{name} {ms:.3f} ms" for name, ms in _latencies(values).items())
        yield Text(f"latency {title}: {told}", "dim")
    style = "bold red" if found.changed else "bold green"
    yield Text(f"{len(found.changed):,} of {found.total:,} recorded reviews would be decided differently", style)


def _headline(changed: ChangedReview) -> str:
    before, after = changed.recorded.verdict.get("allowed"), changed.verdict.get("allowed")
    if before != after:
        return "now denied" if before else "now allowed"
    return f"different {', '.join(changed.fields)}"
