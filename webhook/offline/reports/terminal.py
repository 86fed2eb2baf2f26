"""Findings for people: text as `Diagnostic.render` gives it, with colour where the output is a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from webhook.diagnostics import WIDTH, Diagnostic, Severity
from webhook.offline.reports.findings import sentence

COLOURS: Final = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}


def styled(finding: Diagnostic, width: int = WIDTH) -> Text:
    """Give one finding: the place plain, severity and code in colour, the caret in the same, the hint in green."""
    colour = COLOURS[finding.severity]
    first, *rest = finding.render(width).split("\n")
    place, mark = f"{finding.place}: ", f"{finding.severity}[{finding.code}]"
    text = Text.assemble((place, "bold"), (mark, colour), first[len(place) + len(mark) :])
    for line in rest:
        bare = line.strip()
        style = colour if bare.startswith("^") else "green" if line.startswith("    = ") else "dim"
        text.append("\n" + line, style)
    return text


def summary(findings: Sequence[Diagnostic], files: int) -> Text:
    """Give the last line: how many findings of each severity in how many files."""
    worst = next((COLOURS[s] for s in Severity if any(f.severity is s for f in findings)), "bold green")
    return Text.assemble((sentence(findings), worst), f" in {files} file{'s' if files != 1 else ''}")
