"""Text output: findings as `Diagnostic.render` returns them, coloured on a terminal, and tables without lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from webhook.diagnostics import WIDTH, Diagnostic, Severity
from webhook.offline.reports.findings import sentence

COLOURS: Final = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}


def styled(finding: Diagnostic, width: int = WIDTH) -> Text:
    """Return one finding: the place plain, severity and code in colour, the caret in the same, the hint in green."""
    colour = COLOURS[finding.severity]
    first, *rest = finding.render(width).split("\n")
    place, mark = f"{finding.place}: ", f"{finding.severity}[{finding.code}]"
    text = Text.assemble((place, "bold"), (mark, colour), first[len(place) + len(mark) :])
    for line in rest:
        bare = line.strip()
        style = colour if bare.startswith("^") else "green" if line.startswith("    = ") else "dim"
        text.append("\n" + line, style)
    return text


def plain_table(title: str, *columns: str) -> Table:
    """Return an empty table without lines; text that is too wide for a column is wrapped. Print it without markup."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def summary(findings: Sequence[Diagnostic], files: int) -> Text:
    """Return the last line: how many findings of each severity in how many files."""
    worst = next((COLOURS[s] for s in Severity if any(f.severity is s for f in findings)), "bold green")
    return Text.assemble((sentence(findings), worst), f" in {files} file{'s' if files != 1 else ''}")
