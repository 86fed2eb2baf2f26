"""What `sluice run` tells while manifests go in: a line for each job, two where it waits or is denied, 80 columns."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from rich.text import Text

from webhook.cli.demo.api_server import CreateOutcome
from webhook.cli.demo.tables import Life, name_of
from webhook.jobs.describe import describe

WIDTH: Final = 80
NAME_WIDTH: Final = 36
LISTED: Final = 8
"""So many jobs of one file are told one by one."""
SAID: Final = 2
"""So many lines of a warning are told."""
FIELDS: Final = ("suspend", "schedulingGates", "labels", "annotations", "tolerations", "requests", "limits")
"""A patch is told by these, in this order; by the field itself where it is none of them."""
LEGEND: Final = (
    ("~", "patched", "yellow"),
    ("=", "unchanged", "green"),
    ("…", "warned", "cyan"),
    ("✗", "denied", "red"),
)


def opening(url: str, page: str, files: int) -> list[Text]:
    """Give the lines before everything else: what is shown, and where."""
    sent = "1 file is" if files == 1 else f"{files} files are"
    told = f"{sent} sent to it, as by kubectl apply. Shown: queued jobs and denials."
    legend = Text("  ").join(Text.assemble((sign, style), f" {word}") for sign, word, style in LEGEND)
    serves = f"Sluice serves admission and queues at {url} (no cluster)."
    return [Text(serves), Text(f"Look at them: {page}"), Text(told), legend]


def told_of_file(title: str, outcomes: Sequence[CreateOutcome]) -> list[Text]:
    """Give the lines of one file: a heading that counts its objects, its queued jobs, and whatever was denied."""
    told = [outcome for outcome in outcomes if not outcome.allowed or _queue(outcome)]
    lines = [Text.assemble((title, "bold"), f"  {_counts(outcomes)}")]
    for outcome in told[:LISTED]:
        lines += _lines(outcome)
    if len(told) > LISTED:
        lines.append(Text(f"    and {len(told) - LISTED} more"))
    return lines


def closing(lives: Iterable[Life]) -> list[Text]:
    """Give the summary: how many jobs ran, who waited longest, and who is pending still."""
    queued = [life for life in lives if life.outcome.stored and _queue(life.outcome)]
    ran = [life for life in queued if life.finished is not None]
    told = f"{len(ran)} of {len(queued)} queued job{'s' * (len(queued) != 1)} finished."
    if started := [life for life in queued if life.started is not None]:
        longest = max(started, key=_waited)
        told += f" Longest wait: {_waited(longest):.1f} s, {name_of(longest.outcome.obj)}"
    lines = [Text(_cut(told, WIDTH), style="bold")]
    if pending := [name_of(life.outcome.obj) for life in queued if life.started is None]:
        lines.append(Text(_cut(f"Pending: {', '.join(pending)}", WIDTH)))
    return lines


def try_next(files: Sequence[Path], own: Mapping[str, Sequence[Path]]) -> list[Text]:
    """Give three commands to go on with, as typed from here; of the files that were sent the first is named.

    `own` are the reader's: `-f`, `--policies`, `--queues`, none for the samples. The commands then are about them.
    """
    again = _options(own)
    rows = [
        (f"sluice plan{_options({'-f': [*own.get('--queues', ()), files[0]]})}", "who runs, who waits, why"),
        (f"sluice run --once -v{again}", "every object, every field"),
        ("sluice init", "your own policies and tests"),
    ]
    if own:
        named = {"-f": files[:1], "-p": own.get("--policies", ()), "-c": own.get("--queues", ())}
        rows[-1] = (f"sluice dry-run --allow-missing{_options(named)}", "what each policy changes")
    return [Text("Try next:")] + [Text(f"  {command:{WIDTH - 31}}  {what}") for command, what in rows]


def _options(given: Mapping[str, Sequence[Path]]) -> str:
    return "".join(f" {option} {shlex.quote(os.path.relpath(path))}" for option in given for path in given[option])


def _counts(outcomes: Sequence[CreateOutcome]) -> str:
    """Say how many objects a file has and what became of them; zeroes are left out."""
    patched = sum(outcome.stored and bool(outcome.steps) for outcome in outcomes)
    denied = sum(not outcome.allowed for outcome in outcomes)
    rejected = sum(outcome.allowed and not outcome.stored for outcome in outcomes)
    counted = {"patched": patched, "denied": denied, "rejected by the API": rejected}
    plural = "s" * (len(outcomes) != 1)
    return ", ".join([f"{len(outcomes)} object{plural}", *(f"{n} {word}" for word, n in counted.items() if n)])


def _lines(outcome: CreateOutcome) -> Iterator[Text]:
    name = name_of(outcome.obj)
    if not outcome.allowed:
        first, *rest = wrap(f"{name}: {outcome.message}", WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        yield Text.assemble(("  ✗ ", "red"), first)
        yield from (Text(f"    {line}") for line in rest)
        return
    sign, style = ("~", "yellow") if outcome.steps else ("=", "green")
    yield Text.assemble(
        (f"  {sign} ", style), _cut(f"{name:{NAME_WIDTH}} {', '.join(changed(outcome.steps))}", WIDTH - 4)
    )
    for warning in outcome.warnings:
        said = wrap(warning, WIDTH - 6, max_lines=SAID, placeholder=" …", break_on_hyphens=False)
        yield from (Text.assemble(("    … " if not at else "      ", "cyan"), line) for at, line in enumerate(said))


def changed(steps: Iterable[Mapping[str, Any]]) -> list[str]:
    """Name what a patch changes, each once: `suspend`, `labels`, `tolerations`."""
    found = {field for step in steps for field in _fields(step["path"].split("/")[1:], step.get("value"))}
    return [*(field for field in FIELDS if field in found), *sorted(found.difference(FIELDS))]


def _fields(path: Sequence[str], value: Any) -> Iterator[str]:
    named = [part for part in path if part in FIELDS]
    if named:
        yield named[-1]
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _fields([*path, key], inner)
    else:
        yield next(part for part in reversed(path) if not part.isdigit() and part != "-")


def _queue(outcome: CreateOutcome) -> str:
    job = describe(outcome.obj)
    return job.queue or "" if job is not None and job.suspended is not None else ""


def _waited(life: Life) -> float:
    return (life.started or 0.0) - life.sent


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
