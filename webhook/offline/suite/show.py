"""The results of a session as terminal text, and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.text import Text

from webhook.diagnostics import Diagnostic
from webhook.offline.reports.findings import record
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.suite.run_case import Result
from webhook.offline.suite.session import Session

_MARKS: Final = {
    CaseOutcome.PASSED: ("✓", "green"),
    CaseOutcome.FAILURE: ("✗", "bold red"),
    CaseOutcome.ERROR: ("!", "bold red"),
    CaseOutcome.SKIPPED: ("-", "yellow"),
}
TITLES: Final = {
    "SUI003": "A case that cannot run",
    "SUI010": "Unexpected verdict",
    "SUI011": "Unexpected message, warning or audit annotation",
    "SUI012": "Unexpected object or patch",
    "SUI013": "Unexpected queue decision",
    "SUI014": "No policy matches the object, or one matches unexpectedly",
    "RUL010": "The queue rules break a law that they declare",
    "COV001": "A policy branch that no case covers",
}
"""What each code is about."""


def lines(session: Session, *, every: bool = True, missed: bool = False) -> Iterator[Text]:
    """Yield the results as lines of text: cases under their suites, then coverage, then the sum."""
    suite = ""
    for result in session.results:
        if not every and result.outcome in (CaseOutcome.PASSED, CaseOutcome.SKIPPED):
            continue
        if result.case.suite != suite:
            suite = result.case.suite
            yield Text(suite, style="bold")
        yield from _case(result)
    yield from _coverage(session, missed=missed)
    yield _sum(session)


def _case(result: Result) -> Iterator[Text]:
    mark, style = _MARKS[result.outcome]
    line = Text(f"  {mark} ", style=style)
    line.append(result.case.name, style="" if result.outcome is CaseOutcome.PASSED else style)
    line.append(f"  {result.case.skip}" if result.case.skip else "", style="dim")
    yield line
    for finding in result.findings:
        yield from _finding(finding)
    for text in result.counterexample.splitlines():
        yield Text(text, style="dim")


def _finding(finding: Diagnostic) -> Iterator[Text]:
    first, *rest = finding.render().splitlines()
    place, _, message = first.partition(f": {finding.severity}[{finding.code}]: ")
    line = Text("      ")
    line.append(place, style="cyan")
    line.append(f" {finding.code} ", style="dim")
    line.append(message)
    yield line
    for text in rest:
        yield Text(f"      {text}", style="dim")


def _coverage(session: Session, *, missed: bool) -> Iterator[Text]:
    if not session.branches:
        return
    yield Text("")
    yield Text("coverage", style="bold")
    by_policy: dict[str, list[bool]] = {}
    for branch in session.branches:
        by_policy.setdefault(branch.policy, []).append(branch.ran)
    width = max(map(len, by_policy))
    for name, ran in by_policy.items():
        percent = 100 * sum(ran) // len(ran)
        line = Text(f"  {name.ljust(width)}  ")
        line.append(bar(percent), style="green" if percent == 100 else "yellow")
        line.append(f" {percent:3d} %", style="bold")
        line.append(f"  {sum(ran)} of {len(ran)} branches", style="dim")
        yield line
    for branch in session.missed if missed else ():
        yield from _finding(branch.finding)
    if session.missed and not missed:
        many = len(session.missed)
        yield Text(f"  {many} branch{'es' if many > 1 else ''} not covered; use --missed to list", style="dim")


def bar(percent: int, width: int = 20) -> str:
    """Draw a bar."""
    full = percent * width // 100
    return "█" * full + "░" * (width - full)


def _sum(session: Session) -> Text:
    passed, skipped = session.count(CaseOutcome.PASSED), session.count(CaseOutcome.SKIPPED)
    failed = session.count(CaseOutcome.FAILURE, CaseOutcome.ERROR)
    line = Text("\n")
    line.append(f"{passed} passed", style="bold green" if passed else "dim")
    line.append(f", {failed} failed", style="bold red" if failed else "dim")
    if skipped:
        line.append(f", {skipped} skipped", style="yellow")
    if session.broken:
        many = len(session.broken)
        line.append(f", {many} error{'s' if many > 1 else ''} in files", style="bold red")
    if session.left:
        line.append(f", {session.left} not selected", style="dim")
    line.append(f" in {session.seconds:.2f} s", style="dim")
    return line


def as_json(session: Session) -> dict[str, Any]:
    """Return the results as plain JSON values."""
    return {
        "cases": [_case_json(result) for result in session.results],
        "coverage": {
            "branches": len(session.branches),
            "ran": len(session.branches) - len(session.missed),
            "missed": [record(branch.finding) for branch in session.missed],
        },
        "errors": [record(found) for found in session.broken],
        "summary": {str(outcome): session.count(outcome) for outcome in CaseOutcome},
    }


def _case_json(result: Result) -> dict[str, Any]:
    case, verdict = result.case, result.verdict
    made: dict[str, Any] = {
        "suite": case.suite,
        "name": case.name,
        "file": case.place.file,
        "line": case.place.line,
        "outcome": str(result.outcome),
        "seconds": round(result.seconds, 6),
        "findings": [record(f) for f in result.findings],
    }
    if result.counterexample:
        made["counterexample"] = result.counterexample
    if verdict is not None:
        made["verdict"] = {
            "allowed": verdict.allowed,
            "reason": verdict.reason,
            "message": verdict.message,
            "patch": [step.wire() for step in verdict.patch],
            "warnings": list(verdict.warnings),
            "policies": list(verdict.policies),
        }
    return made


def findings_of(session: Session) -> list[Diagnostic]:
    """Return all findings, of failed cases and unreadable files as errors and of missed branches as notes."""
    return [*session.broken, *(f for r in session.results for f in r.findings), *(b.finding for b in session.missed)]
