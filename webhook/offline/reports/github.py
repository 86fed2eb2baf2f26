"""Findings as workflow commands of GitHub Actions: a line each, shown beside the changed line of a pull request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.diagnostics import Diagnostic, Severity

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def commands(findings: Iterable[Diagnostic]) -> str:
    """Return a workflow command per finding, a line each; nothing where there are none."""
    return "".join(annotation(finding) + "\n" for finding in findings)


def annotation(finding: Diagnostic) -> str:
    """Return the workflow command of one finding."""
    place = finding.place
    fields = {"file": place.file, "line": place.line, "col": place.column, "title": finding.code}
    if place.column and place.length:
        fields["endColumn"] = place.column + place.length - 1
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items() if value)
    text = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
