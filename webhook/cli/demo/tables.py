"""The tables of `sluice run`: what became of each manifest, and how the jobs ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from webhook.cli.demo.api_server import CreateOutcome
from webhook.cli.demo.lives import Life
from webhook.cli.demo.patch_words import changes
from webhook.store.objects import key_of


def sent_table(title: str, outcomes: Sequence[CreateOutcome]) -> Table:
    """Return a row per manifest that a policy touched: what was patched, why it was denied, where it is pending.

    Unchanged objects without a warning are named in one line below.
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
    """Return a row per job that a queue holds: queue, and when it was sent, started and finished."""
    table = Table(title="queued jobs", title_justify="left", expand=True)
    table.add_column("job", ratio=4, overflow="fold")
    table.add_column("queue", ratio=3, overflow="fold")
    for name in ("sent", "started", "finished"):
        table.add_column(name, justify="right", width=9)
    for life in lives:
        if life.queue:
            started = "pending" if life.started is None else _seconds(life.started)
            finished = "-" if life.started is None else "running" if life.finished is None else _seconds(life.finished)
            table.add_row(name_of(life.outcome.obj), life.queue, _seconds(life.sent), started, finished)
    return table


def name_of(obj: dict[str, Any]) -> str:
    """Name an object: kind, namespace and name; by its kind alone where it has no name."""
    namespace, name = key_of(obj)
    if not name:
        return str(obj["kind"])
    return f"{obj['kind']} {namespace}/{name}" if namespace else f"{obj['kind']} {name}"


def _verdict(outcome: CreateOutcome) -> Text:
    if not outcome.allowed:
        return Text("denied", "bold red")
    if not outcome.stored:
        return Text("rejected", "magenta")
    return Text("patched", "yellow") if outcome.steps else Text("unchanged", "green")


def _said(outcome: CreateOutcome) -> str:
    return "\n".join([outcome.message, *outcome.warnings] if outcome.message else outcome.warnings)


def _seconds(at: float) -> str:
    return f"{at:.2f} s"
