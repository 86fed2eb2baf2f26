"""A simulation as tables for a terminal, and as plain values; two rule sets side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from webhook.offline.reports.terminal import plain_table
from webhook.simulate.plot import seconds
from webhook.simulate.summary import Summary, SummaryRow

COLUMNS = ("Jobs", "Finished", "Wait mean", "median", "p90", "max", "Preempted", "Lost")


def tables(summaries: Sequence[Summary]) -> Iterator[Table]:
    """Yield a table of the totals, then one of the rows; of several rule sets each row stands under its like."""
    yield _totals(summaries)
    table = plain_table("by queue and class", "Queue", "Class", *(("Rules",) if len(summaries) > 1 else ()), *COLUMNS)
    keys = sorted({(r.queue, r.group) for s in summaries for r in s.rows})
    for key in keys:
        for summary in summaries:
            for row in summary.rows:
                if (row.queue, row.group) == key:
                    name = (summary.name,) if len(summaries) > 1 else ()
                    table.add_row(row.queue or "-", row.group or "-", *name, *_cells(row))
    yield table


def document(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return the summaries as values for JSON; times in milliseconds."""
    return [asdict(s) for s in summaries]


def _totals(summaries: Sequence[Summary]) -> Table:
    table = plain_table("totals", "", *(s.name for s in summaries))
    lines: list[tuple[str, list[str]]] = [
        ("last job finished at", [seconds(s.makespan) for s in summaries]),
        ("mean wait", [seconds(s.total.wait_mean) for s in summaries]),
        ("maximum wait", [seconds(s.total.wait_max) for s in summaries]),
        ("preemptions", [str(s.total.preemptions) for s in summaries]),
        ("run time lost to preemption", [seconds(s.total.lost) for s in summaries]),
        ("fairness (Jain)", [f"{s.fairness:.3f}" for s in summaries]),
        ("never admitted", [str(s.never_started) for s in summaries]),
    ]
    used = sorted({r for s in summaries for r in s.utilisation})
    lines += [(f"use of {r}", [f"{s.utilisation.get(r, 0):.1%}" for s in summaries]) for r in used]
    for name, cells in lines:
        table.add_row(name, *cells)
    return table


def _cells(row: SummaryRow) -> tuple[str, ...]:
    waits = (row.wait_mean, row.wait_median, row.wait_p90, row.wait_max)
    return (str(row.jobs), str(row.finished), *map(seconds, waits), str(row.preemptions), seconds(row.lost))
