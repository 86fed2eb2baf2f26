"""One run of suites: the cases and policies, their results and coverage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.diagnostics import Diagnostic
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.reports.junit import JunitCase as ReportCase
from webhook.offline.reports.junit import JunitSuite as ReportSuite
from webhook.offline.suite.coverage import Branch
from webhook.offline.suite.run_case import Result
from webhook.offline.suite.run_suite import RunOptions, SuiteResult, picked
from webhook.offline.suite.suite_file import suites_of
from webhook.offline.suite.workers import run_parts, worker_count
from webhook.policy.loading.shipped import is_shipped


@dataclass(frozen=True, slots=True)
class Session:
    """The results of all cases, and the branches of the policies; `left` counts the cases that were not picked.

    `broken` says why suites are not among them: they, or their policies, cannot be read.
    """

    results: tuple[Result, ...]
    branches: tuple[Branch, ...]
    left: int = 0
    seconds: float = 0.0
    broken: tuple[Diagnostic, ...] = ()

    def count(self, *outcomes: CaseOutcome) -> int:
        """Count the cases that ended so."""
        return sum(result.outcome in outcomes for result in self.results)

    @property
    def failed(self) -> bool:
        """Whether a case did not pass."""
        return self.count(CaseOutcome.FAILURE, CaseOutcome.ERROR) > 0

    @property
    def missed(self) -> tuple[Branch, ...]:
        """The branches that no case ran."""
        return tuple(branch for branch in self.branches if not branch.ran)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """`jobs` is how many processes to use (None: as many as are worth it); `rules` are those of suites without any."""

    how: RunOptions = field(default_factory=RunOptions)
    jobs: int | None = None
    rules: tuple[str, ...] = ()


DEFAULTS: Final = SessionOptions()


def run_session(
    paths: Sequence[Path], options: SessionOptions = DEFAULTS, tell: Callable[[Result, int], None] | None = None
) -> Session:
    """Run the suites below some paths. `tell` hears each result as it comes, with how many there will be.

    Raises re.error where the pattern is none.
    """
    start = time.perf_counter()
    wrong: list[Diagnostic] = []
    pattern = options.how.pattern
    suites = suites_of(paths, wrong, options.rules)
    total = sum(len(picked(suite, pattern)) for suite in suites)

    def heard(result: Result) -> None:
        if tell:
            tell(result, total)

    processes = worker_count(suites, pattern, options.jobs)
    parts = run_parts(suites, options.how, processes, heard)
    broken = tuple(dict.fromkeys((*wrong, *(d for part in parts for d in part.broken))))
    results = tuple(result for part in parts for result in part.results)
    left = sum(len(suite.cases) for suite in suites) - total
    return Session(results, _covered(parts, paths), left, time.perf_counter() - start, broken)


def _covered(parts: Iterable[SuiteResult], paths: Sequence[Path]) -> tuple[Branch, ...]:
    """Join the branches of a policy that several suites load, however they name it: it ran where one of them ran it.

    Shipped policies that suites only take along (`sluice.dev/NAME`) are tested elsewhere, and do not count.
    """
    found: dict[object, Branch] = {}
    mine = {path.resolve() for path in paths}
    for branch in (branch for part in parts for branch in part.branches):
        place = branch.finding.place
        file = Path(place.file).resolve()
        key = (file, place.line, place.column, branch.what)
        if is_shipped(file) and mine.isdisjoint((file, *file.parents)):
            continue
        if key not in found or branch.ran:
            found[key] = branch
    return tuple(found.values())


def report(session: Session) -> list[ReportSuite]:
    """Return the results in the form the reports write."""
    groups: dict[str, list[ReportCase]] = {}
    for result in session.results:
        case, findings = result.case, result.findings
        first = (
            findings[0].message if findings else case.skip or ("not run" if result.outcome is CaseOutcome.ERROR else "")
        )
        details = "\n".join((*(f.render() for f in findings), *result.counterexample.splitlines()))
        entry = ReportCase(case.name, case.suite, result.outcome, first, details, result.seconds)
        groups.setdefault(case.suite, []).append(entry)
    for found in session.broken:
        entry = ReportCase(str(found.place), "files", CaseOutcome.ERROR, found.message, found.render())
        groups.setdefault("files", []).append(entry)
    return [ReportSuite(name, tuple(cases)) for name, cases in groups.items()]
