"""Findings as SARIF 2.1.0, the form that GitHub code scanning and editors read (OASIS standard, sections 3.13 on)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from webhook import __version__
from webhook.diagnostics import Diagnostic, Place, Severity

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(findings: Sequence[Diagnostic], titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the log: one run, a rule per code that was found, a result per finding.

    `titles` says in one sentence what each code is about; a code without one is its own title.
    """
    codes = sorted({finding.code for finding in findings})
    rules = [{"id": code, "shortDescription": {"text": titles.get(code, code)}} for code in codes]
    driver = {"name": "sluice", "version": __version__, "rules": rules}
    results = [_result(finding, codes.index(finding.code)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Diagnostic, index: int) -> dict[str, Any]:
    text = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(finding.place)}],
    }


def _location(place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": uri(place.file)}}
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
            if place.length:
                region["endColumn"] = place.column + place.length
        location["region"] = region
    return location


def uri(file: str) -> str:
    """Write a file path as a URI: forward slashes, percent signs where needed, a scheme where it is absolute."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")
