"""Runs one suite in this process: its cases against its policies, with the branches that they cover."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from webhook.api.configuration.sections import QueueSettings
from webhook.diagnostics import Diagnostic, SourceError
from webhook.offline.laws.search import TRIED_CLUSTERS
from webhook.offline.suite.coverage import Branch, Coverage, Watchers, watched
from webhook.offline.suite.queue_result import RulesFor, rules_of
from webhook.offline.suite.run_case import Result, run_case
from webhook.offline.suite.suite_file import Case, Suite
from webhook.policy.bundle import Bundle
from webhook.policy.loading.load_bundle import load_bundle


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What came of one suite. `broken` says why its policies cannot be loaded; then there is nothing else."""

    results: tuple[Result, ...] = ()
    branches: tuple[Branch, ...] = ()
    broken: tuple[Diagnostic, ...] = ()


def picked(suite: Suite, pattern: str) -> list[Case]:
    """Return the cases whose `suite//case` matches. Raises re.error where the pattern is none."""
    wanted = re.compile(pattern)
    return [case for case in suite.cases if wanted.search(case.title)]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Policies whose expressions are watched, and the queue's rules, compiled when a case asks."""

    bundle: Bundle
    watchers: Watchers
    rules: RulesFor


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`pattern` picks cases by `suite//case`; laws of queue rules are tried on so many `examples`.

    `settings` are those of the queues in cases that have none of their own.
    """

    pattern: str = ""
    cover: bool = True
    examples: int = TRIED_CLUSTERS
    settings: QueueSettings | None = None


@dataclass(slots=True)
class Runner:
    """Runs suites one after the other. Policies that several suites share are loaded once."""

    how: RunOptions
    _loaded: dict[tuple[Path, ...], _Loaded | SourceError] = field(default_factory=dict)

    def run(self, suite: Suite, tell: Callable[[Result], None]) -> SuiteResult:
        """Run a suite's picked cases; `tell` hears each result as it comes."""
        loaded = self._load(suite.policies, suite.rules)
        if isinstance(loaded, SourceError):
            return SuiteResult(broken=tuple(loaded.diagnostics))
        coverage = Coverage([p for p in loaded.bundle.policies if self.how.cover], loaded.watchers)
        results = []
        for case in picked(suite, self.how.pattern):
            observer = coverage if self.how.cover else None
            results.append(run_case(case, loaded.bundle, observer, loaded.rules, self.how.examples, self.how.settings))
            tell(results[-1])
        return SuiteResult(tuple(results), tuple(coverage.branches()))

    def _load(self, paths: tuple[Path, ...], rules: tuple[str, ...]) -> _Loaded | SourceError:
        if paths not in self._loaded:
            try:
                bundle, watchers = watched(load_bundle(paths))
                self._loaded[paths] = _Loaded(bundle, watchers, _rules_for(bundle, rules, self.how.settings))
            except SourceError as error:
                self._loaded[paths] = error
        return self._loaded[paths]


def _rules_for(bundle: Bundle, names: tuple[str, ...], usual: QueueSettings | None) -> RulesFor:
    """Return what compiles the rules when a case asks: once for all cases that have the `usual` settings."""
    compiled = functools.cache(functools.partial(rules_of, bundle, names, usual))
    return lambda settings: compiled() if settings is usual else rules_of(bundle, names, settings)
