"""What `sluice run` prints while it sends manifests: 80 columns, a line or two for each job and each denial.

At most `LINES` lines: what does not fit is counted.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from rich.text import Text

from webhook.cli.demo.api_server import CreateOutcome
from webhook.cli.demo.lives import Life
from webhook.cli.demo.tables import name_of
from webhook.jobs.read_job import read_job

STDIN: Final = Path("-")
WIDTH: Final = 80
LINES: Final = 40
AROUND: Final = 4
"""Lines of opening, summary and the page's address."""
NAME_WIDTH: Final = 36
RESERVED: Final = 4
"""Lines that are kept for each file that is still to be sent; one more for the last."""
LISTED: Final = 8
"""So many jobs of one file are told one by one."""
SAID: Final = 2
"""So many lines of a warning or a denial are told."""
WHOLE: Final = 3
"""So many lines of a denial, where there is room: its end says what to write instead."""
FIELDS: Final = ("suspend", "schedulingGates", "labels", "annotations", "tolerations", "requests", "limits")
"""A patch is summed up by these, in this order; by the field itself where it is none of them."""
PATCHED, UNCHANGED, PENDING, WARNED, DENIED = (
    ("~", "patched", "yellow"),
    ("=", "unchanged", "green"),
    ("…", "pending", "cyan"),
    ("!", "warned", "magenta"),
    ("✗", "denied", "red"),
)
OF_THE_QUEUE: Final = "queue "
"""How a warning begins that says a job's position in its queue."""
TITLES: Final = {
    "000-kueue-kubeflow": "000 Kueue and Kubeflow",
    "001-ai-scheduling": "001 Scheduling AI workloads",
    "002-kubeflow-gpu": "002 GPU workloads with Kubeflow",
    "003-kueue-two-teams": "003 Two teams, one queue",
    "004-gpu-pods": "004 Pods with GPUs",
    "refused": "Jobs that can never run",
}
"""Of the sample files: the articles."""


@dataclass(slots=True)
class Story:
    """A run's story. `files` are how many are still to be sent, `arriving` whether jobs keep arriving."""

    files: int
    following: list[Text]
    arriving: bool = False
    used: int = 0

    def opening(self, url: str) -> list[Text]:
        """Return the lines before everything else; `url` is that of admission, where it is to be shown."""
        signs = (PATCHED, UNCHANGED, PENDING, WARNED, DENIED)
        sent = f"{self.files} file{'s' * (self.files != 1)}"
        return [
            *([Text(f"Sluice serves admission at {url}, without a cluster.")] if url else []),
            Text(f"Sending {sent}, as kubectl apply would. Queued jobs and denials are shown."),
            Text("  ").join(Text.assemble((sign, style), f" {word}") for sign, word, style in signs),
        ]

    def file(self, stem: str, outcomes: Sequence[CreateOutcome]) -> list[Text]:
        """Return the lines of one file: a heading with counts, its queued jobs, and what was denied or rejected."""
        self.files -= 1
        left = LINES - AROUND - len(self.following) - self.used
        kept = self.files * min(RESERVED, (left - 1) // max(1, self.files)) + (self.files > 0)
        room = max(1, left - kept)
        title = "standard input" if stem == STDIN.stem else TITLES.get(stem, stem)
        lines = [Text.assemble((_cut(title, WIDTH // 2), "bold"), f"  {_counts(outcomes)}")]
        lines += _fitting([each for each in outcomes if not each.stored or _queue(each)], room - 1)
        self.used += len(lines)
        return lines

    def closing(self, lives: Iterable[Life]) -> list[Text]:
        """Return the summary: how many jobs ended, run and wait, which one waited longest; and what to do next."""
        queued = [life for life in lives if life.queue]
        pending = [name_of(life.outcome.obj) for life in queued if life.started is None]
        ended = sum(life.finished is not None for life in queued)
        running = sum(life.runs for life in queued)
        counts = [f"{ended} of {len(queued)} queued job{'s' * (len(queued) != 1)} finished"]
        counts += [f"{n} {word}" for n, word in ((running, "running"), (len(pending), "pending")) if n]
        told = f"{', '.join(counts)}."
        if started := [life for life in queued if life.started is not None]:
            longest = max(started, key=_waited)
            wait = f" Longest wait: {_waited(longest):.1f} s"
            whole = f"{told}{wait}, {longest.outcome.obj['metadata']['name']}."
            told = whole if len(whole) <= WIDTH else f"{told}{wait}."
        lines = [Text(told, style="bold")]
        if pending and self.used + len(self.following) + AROUND < LINES:
            lines.append(Text(_listed("Pending: ", pending, WIDTH)))
        return [*lines, *self.following]

    def serving(self, page: str) -> list[Text]:
        """Return the last line: where to look."""
        arriving = " Jobs keep arriving." * self.arriving
        return [Text.assemble("Page: ", (page, "bold"), f"  Serving until Ctrl-C.{arriving}")]


def try_next(first: Path, own: Mapping[str, Sequence[Path]]) -> list[Text]:
    """Return three commands to go on with, as typed from here; the `first` file that was sent is named.

    `own` are the reader's: `-f`, `-p`, `-c`, none for the samples. The commands then are about them; what came over
    standard input cannot be read again.
    """
    sluice, again = program(), _options(own)
    if first == STDIN:
        return []
    rows = [
        ([f"{sluice} plan", *_options({"-f": [*own.get("-c", ()), first]})], "who waits, why"),
        ([f"{sluice} run --once -v", *again], "every object, every field"),
        ([f"{sluice} init gpu-policies && cd gpu-policies"], "your own policies"),
    ]
    if own:
        named = {"-f": [first], "-p": own.get("-p", ()), "-c": own.get("-c", ())}
        rows[-1] = ([f"{sluice} dry-run --allow-missing", *_options(named)], "what each policy changes")
    return [Text("Try next:"), *(Text(line) for parts, what in rows for line in typed(parts, what))]


def program() -> str:
    """Return how this program is called from here: by its name where that is this one, else by its path."""
    own = Path(sys.executable).with_name("sluice")
    found = shutil.which("sluice")
    if not own.is_file() or (found is not None and os.path.samefile(found, own)):
        return "sluice"
    return shlex.quote(min(os.path.relpath(own), str(own), key=len))


def typed(parts: Sequence[str], what: str) -> list[str]:
    """Return a command and what it shows: on one line where there is room, else below it, with lines to be joined."""
    lines = [f"  {parts[0]}"]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    if len(lines) == 1 and len(lines[0]) + len(what) + 2 <= WIDTH:
        return [f"{lines[0]}  {what}"]
    return [*lines, f"      {what}"]


def _options(given: Mapping[str, Sequence[Path]]) -> list[str]:
    return [f"{option} {shlex.quote(os.path.relpath(path))}" for option in given for path in given[option]]


def _fitting(outcomes: Sequence[CreateOutcome], room: int) -> list[Text]:
    """Return a line for each object as far as there is room, denials first; the rest are counted.

    Room that is left goes to the end of denials.
    """
    told = [list(_lines(outcome)) for outcome in outcomes]
    chosen: set[int] = set()
    free = room
    for at in sorted(range(len(told)), key=lambda at: outcomes[at].stored):
        more = len(chosen) + 1 < len(told)
        if len(chosen) < LISTED and len(told[at]) + more <= free:
            chosen.add(at)
            free -= len(told[at])
    left = len(told) - len(chosen)
    spare = free - (left > 0)
    for at in (at for at in sorted(chosen) if not outcomes[at].stored):
        whole = list(_lines(outcomes[at], WHOLE))
        if (longer := len(whole) - len(told[at])) <= spare:
            told[at], spare = whole, spare - longer
    lines = [line for at in sorted(chosen) for line in told[at]]
    return [*lines, *([Text(f"    and {left} more")] if left and free else [])]


def _counts(outcomes: Sequence[CreateOutcome]) -> str:
    """Return how many objects a file has and what became of them; zeroes are left out."""
    patched = sum(outcome.stored and bool(outcome.steps) for outcome in outcomes)
    denied = sum(not outcome.allowed for outcome in outcomes)
    rejected = sum(outcome.allowed and not outcome.stored for outcome in outcomes)
    counted = {"patched": patched, "denied": denied, "rejected": rejected}
    plural = "s" * (len(outcomes) != 1)
    return ", ".join([f"{len(outcomes)} object{plural}", *(f"{n} {word}" for word, n in counted.items() if n)])


def _lines(outcome: CreateOutcome, said: int = SAID) -> Iterator[Text]:
    name = name_of(outcome.obj)
    if not outcome.stored:
        why = outcome.message.removeprefix(name).strip()
        yield from _wrapped(DENIED, 2, f"{name}{' rejected by the API' * outcome.allowed}: {why}", said)
        return
    sign, _, style = PATCHED if outcome.steps else UNCHANGED
    told = _listed(f"{name:{NAME_WIDTH}} ", changed(outcome.steps), WIDTH - 4)
    yield Text.assemble((f"  {sign} ", style), told)
    for warning in outcome.warnings:
        yield from _wrapped(PENDING if warning.startswith(OF_THE_QUEUE) else WARNED, 4, warning)


def _wrapped(kind: tuple[str, str, str], indent: int, text: str, said: int = SAID) -> Iterator[Text]:
    """Yield a text after its sign, on `said` lines at most; the words that do not fit are left out."""
    sign, _, style = kind
    width = WIDTH - indent - 2
    lines = wrap(text, width, max_lines=said, placeholder=" …", break_on_hyphens=False)
    yield from (Text.assemble((f"{' ' * indent}{'' if at else sign:2}", style), line) for at, line in enumerate(lines))


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
    job = read_job(outcome.obj)
    return job.queue or "" if job is not None and job.suspended is not None else ""


def _waited(life: Life) -> float:
    return (life.started or 0.0) - life.sent


def _listed(head: str, names: Sequence[str], width: int) -> str:
    """Return names behind a head, as many as there is room for; the others are an ellipsis."""
    for count in range(len(names), 0, -1):
        line = head + ", ".join([*names[:count], *["…"] * (count < len(names))])
        if len(line) <= width:
            return line
    return _cut(head + "".join(names[:1]), width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
