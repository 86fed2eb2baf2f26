"""One run of suites: which cases, against which policies, with what came of them and what was covered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from webhook.diagnostics import Diagnostic, SourceError
from webhook.offline.reports.junit import Case as ReportCase
from webhook.offline.reports.junit import Outcome
from webhook.offline.reports.junit import Suite as ReportSuite
from webhook.offline.suite import Suite, read_suites
from webhook.offline.suite_cover import Branch, Coverage, watched
from webhook.offline.suite_run import Result, run_case
from webhook.policy.bundle import Bundle
from webhook.policy.load import load_bundle


@dataclass(frozen=True, slots=True)
class Session:
    """The results of all cases, and the branches of the policies; `left` counts the cases that were not picked."""

    results: tuple[Result, ...]
    branches: tuple[Branch, ...]
    left: int = 0

    def count(self, *outcomes: Outcome) -> int:
        """Count the cases that ended so."""
        return sum(result.outcome in outcomes for result in self.results)

    @property
    def failed(self) -> bool:
        """Whether a case did not pass."""
        return self.count(Outcome.FAILURE, Outcome.ERROR) > 0

    @property
    def missed(self) -> tuple[Branch, ...]:
        """The branches that no case ran."""
        return tuple(branch for branch in self.branches if not branch.ran)


def run_session(
    paths: Sequence[Path], pattern: str = "", *, cover: bool = True, tell: Callable[[Result], None] | None = None
) -> Session:
    """Run the suites below some paths; `pattern` picks cases by `suite//case`. `tell` hears each result.

    Raises SourceError where a suite or a policy cannot be read, re.error where the pattern is none.
    """
    suites = read_suites(paths)
    wanted = re.compile(pattern)
    bundles = _bundles(suites)
    coverage = Coverage()
    results: list[Result] = []
    left = 0
    for suite in suites:
        bundle = bundles[suite.policies]
        for case in suite.cases:
            if not wanted.search(case.title):
                left += 1
                continue
            results.append(run_case(case, bundle, coverage if cover else None))
            if tell:
                tell(results[-1])
    if cover:
        coverage.policies += [p for bundle in bundles.values() for p in bundle.policies]
    return Session(tuple(results), tuple(_unique(coverage)), left)


def _bundles(suites: Iterable[Suite]) -> dict[tuple[Path, ...], Bundle]:
    """Load the policies of each suite, those of the same paths once, with expressions that are watched."""
    found: dict[tuple[Path, ...], Bundle] = {}
    findings: list[Diagnostic] = []
    for suite in suites:
        if suite.policies in found:
            continue
        try:
            found[suite.policies] = watched(load_bundle(suite.policies))
        except SourceError as error:
            findings += error.diagnostics
    if findings:
        raise SourceError(findings)
    return found


def _unique(coverage: Coverage) -> list[Branch]:
    """Join the branches of a policy that several suites load: it ran where one of them ran it."""
    found: dict[object, Branch] = {}
    for branch in coverage.branches():
        key = (branch.finding.place, branch.what)
        if key not in found or branch.ran:
            found[key] = branch
    return list(found.values())


def report(session: Session) -> list[ReportSuite]:
    """Give the results in the form the reports write."""
    groups: dict[str, list[ReportCase]] = {}
    for result in session.results:
        case, findings = result.case, result.findings
        first = findings[0].message if findings else case.skip
        details = "\n".join(f.render() for f in findings)
        entry = ReportCase(case.name, case.suite, result.outcome, first, details, result.seconds)
        groups.setdefault(case.suite, []).append(entry)
    return [ReportSuite(name, tuple(cases)) for name, cases in groups.items()]
