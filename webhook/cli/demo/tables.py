"""The tables of `sluice run`: what became of each manifest, and how the jobs ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from webhook.cli.demo.api_server import CreateOutcome
from webhook.cli.demo.patch_words import changes
from webhook.jobs.describe import describe
from webhook.store.objects import key_of


@dataclass(slots=True)
class Life:
    """When a job was sent, started and finished, in seconds of the run."""

    outcome: CreateOutcome
    sent: float
    started: float | None = None
    finished: float | None = None


def sent_table(title: str, outcomes: Sequence[CreateOutcome]) -> Table:
    """Give a row per manifest that a policy touched: what was changed, why it was refused, where it waits.

    What passed as it came, without a word, is told in one line below.
    """
    table = Table(title=title, title_justify="left", caption_justify="left", expand=True)
    table.add_column("object", ratio=4, overflow="fold")
    table.add_column("verdict", width=9)
    table.add_column("patch", ratio=5, overflow="fold")
    table.add_column("message and queue position", ratio=6, overflow="fold")
    silent = []
    for outcome in outcomes:
        if outcome.stored and not outcome.steps and not outcome.warnings:
            silent.append(name_of(outcome.obj))
            continue
        table.add_row(name_of(outcome.obj), _verdict(outcome), "\n".join(changes(outcome.steps)), _said(outcome))
    if silent:
        table.caption = f"unchanged: {', '.join(silent)}"
    return table


def ended_table(lives: Iterable[Life]) -> Table:
    """Give a row per job that a queue holds: queue, and when it was sent, started and finished."""
    table = Table(title="queued jobs", title_justify="left", expand=True)
    table.add_column("job", ratio=4, overflow="fold")
    table.add_column("queue", ratio=3, overflow="fold")
    for name in ("sent", "started", "finished"):
        table.add_column(name, justify="right", width=9)
    for life in lives:
        job = describe(life.outcome.obj) if life.outcome.stored else None
        if job is not None and job.queue and job.suspended is not None:
            times = (_seconds(life.sent), _seconds(life.started), _seconds(life.finished))
            table.add_row(name_of(life.outcome.obj), job.queue, *times)
    return table


def name_of(obj: dict[str, Any]) -> str:
    """Name an object: kind, namespace and name."""
    namespace, name = key_of(obj)
    return f"{obj['kind']} {namespace}/{name}" if namespace else f"{obj['kind']} {name}"


def _verdict(outcome: CreateOutcome) -> Text:
    if not outcome.allowed:
        return Text("denied", "bold red")
    if not outcome.stored:
        return Text("rejected", "magenta")
    return Text("patched", "yellow") if outcome.steps else Text("unchanged", "green")


def _said(outcome: CreateOutcome) -> str:
    return "\n".join([outcome.message, *outcome.warnings] if outcome.message else outcome.warnings)


def _seconds(at: float | None) -> str:
    return "pending" if at is None else f"{at:.2f} s"
