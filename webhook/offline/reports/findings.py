"""Findings as one JSON document: a list in file order, and the count of each severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.diagnostics import Diagnostic, Severity


def as_json(findings: Sequence[Diagnostic]) -> dict[str, Any]:
    """Return the findings as plain JSON values."""
    return {"findings": [record(f) for f in findings], "summary": counts(findings)}


def record(finding: Diagnostic) -> dict[str, Any]:
    """Return one finding as plain JSON values; what is not known is left out."""
    place = finding.place
    fields = {
        "code": finding.code,
        "severity": str(finding.severity),
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "length": place.length,
        "message": finding.message,
        "hint": finding.hint,
        "source": finding.source,
    }
    return {key: value for key, value in fields.items() if value}


def counts(findings: Sequence[Diagnostic]) -> dict[str, int]:
    """Count the findings by severity, every severity named."""
    return {str(severity): sum(f.severity is severity for f in findings) for severity in Severity}


def sentence(findings: Sequence[Diagnostic]) -> str:
    """Return the counts in words: `2 errors, 1 warning`, or `no findings`."""
    parts = [f"{n} {name}{'s' if n != 1 else ''}" for name, n in counts(findings).items() if n]
    return ", ".join(parts) or "no findings"
