"""Findings of a policy library: files that users install with bindings and params of their own.

Only what the API server rejects is an error; what may be wrong in some clusters is a warning, and findings that nearly
every file has become one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from webhook.diagnostics import Diagnostic, Severity

_SUMMED: Final = {
    "REF001": "{} policies have no binding in these files; a library leaves bindings to the cluster",
    "REF003": "{} bindings reference parameters that are not in these files; the cluster must have them",
    "SAF001": "{} policies could match requests in kube-system; exclude it in their bindings",
}
"""Findings of which a library has many: one line for all of a kind."""
_REFUSED: Final = ("FILE", "YAML", "LOAD", "POL", "CEL001", "RUL", "SCH", "REF005", "REF008", "RCH004", "EXC001", "SUI")
"""Codes, and families of codes, of what is refused when the file is applied, or cannot be read at all."""

_TAKEN: Final = "LOAD004"
"""One name twice: where both files are applied the second replaces the first. Libraries ship a policy alone and in a
bundle."""


def of_a_library(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the findings as they are told of a library, in their order."""
    kept = [_weighed(finding) for finding in findings if finding.code not in _SUMMED]
    for code, text in _SUMMED.items():
        same = [finding for finding in findings if finding.code == code]
        if same:
            kept.append(replace(same[0], message=text.format(len(same)), hint="", severity=Severity.NOTE))
    return sorted(kept, key=lambda f: (f.place, f.code, f.message))


def _weighed(finding: Diagnostic) -> Diagnostic:
    if finding.severity == Severity.ERROR and (finding.code == _TAKEN or not finding.code.startswith(_REFUSED)):
        return replace(finding, severity=Severity.WARNING)
    return finding
