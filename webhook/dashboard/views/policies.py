"""The policies in force, how often each denied or changed, how long each takes, and what the last reload changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from webhook.admission.verdict import Verdict
from webhook.dashboard.model.policies import ExceptionRow, PoliciesView, PolicyRow, ReloadRow, RuleFileRow
from webhook.dashboard.sources import Sources
from webhook.diagnostics import Place
from webhook.policy.evaluation.result import Observer
from webhook.policy.model import Policy
from webhook.policy_reload.policies import Policies

TIMED: Final = 16
"""One review in so many is timed, policy by policy: an observed review takes half as long again."""
_Key = tuple[str, bool]
"""Name of a policy, and whether it changes objects."""


@dataclass(slots=True)
class PolicyCount:
    """What became of the reviews that reached a policy. Times are in seconds."""

    evaluated: int = 0
    denied: int = 0
    changed: int = 0
    timed: int = 0
    seconds: float = 0.0
    slowest: float = 0.0


class PolicyTimer:
    """Hears of each clause of one review as it is done, and adds the time since the last to its policy."""

    def __init__(self, counts: Mapping[_Key, PolicyCount]) -> None:
        self._counts, self._last = counts, perf_counter()
        self._here: dict[_Key, float] = {}

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take the time of a clause."""
        now, key = perf_counter(), (policy.name, policy.mutating)
        count, spent = self._counts[key], now - self._last
        if key not in self._here:
            count.timed += 1
        self._here[key] = whole = self._here.get(key, 0.0) + spent
        count.seconds += spent
        count.slowest = max(count.slowest, whole)
        self._last = now


@dataclass(slots=True)
class PolicyLog:
    """Counts by policy since this replica started, and the last reload. Told of every verdict: it must be quick."""

    now: int
    loaded: int = 0
    reload: ReloadRow | None = None
    counts: defaultdict[_Key, PolicyCount] = field(default_factory=lambda: defaultdict(PolicyCount))
    _reviews: int = 0
    _before: dict[_Key, str] = field(default_factory=dict)
    _digest: str = ""

    def begin(self, policies: Policies) -> None:
        """Take the first set."""
        self.loaded, self._before, self._digest = self.now, _digests(policies), policies.bundle.digest

    def swapped(self, policies: Policies, now: int) -> None:
        """Note what another set changes."""
        digests, before = _digests(policies), self._before
        if policies.bundle.digest != self._digest:
            self.reload = ReloadRow(
                now,
                self._digest,
                _names(digests.keys() - before.keys()),
                _names(before.keys() - digests.keys()),
                _names(key for key in digests.keys() & before.keys() if digests[key] != before[key]),
            )
        self.loaded, self._before, self._digest = now, digests, policies.bundle.digest

    def watch(self) -> Observer | None:
        """Give who times the next review, for one in some."""
        self._reviews += 1
        return PolicyTimer(self.counts) if self._reviews % TIMED == 0 else None

    def reviewed(self, verdict: Verdict, *, mutating: bool) -> None:
        """Count a verdict."""
        for name in verdict.policies:
            self.counts[name, mutating].evaluated += 1
        for name in verdict.changed_by:
            self.counts[name, mutating].changed += 1
        if not verdict.allowed:
            for name in {denial.partition(": ")[0] for denial in verdict.denials}:
                if name in verdict.policies:
                    self.counts[name, mutating].denied += 1


def policies_view(sources: Sources, log: PolicyLog) -> PoliciesView:
    """Give what is in force."""
    files = sources.policies
    policies = files.current
    named = {str(document.at(("metadata", "name"))): document for document in policies.bundle.queue_policies}
    rules = tuple(RuleFileRow(name, named[name].file if name in named else "") for name in sources.rules.names)
    exceptions = []
    for one in policies.bundle.exceptions:
        place = one.document.place(("metadata", "name"))
        exceptions.append(
            ExceptionRow(
                one.name, tuple(sorted(one.policies)), one.reason, round(one.expires * 1000), place.file, place.line,
                one.namespaces, not one.enabled,
            )
        )  # fmt: skip
    return PoliciesView(
        policies.bundle.digest,
        log.loaded,
        sources.started,
        tuple(_row(lazy.stub, lazy.place, log.counts.get((lazy.stub.name, lazy.stub.mutating)) or PolicyCount())
              for lazy in policies.lazy.policies),
        rules,
        tuple(exceptions),
        log.reload,
        files.problem,
    )  # fmt: skip


def _row(policy: Policy, place: Place, count: PolicyCount) -> PolicyRow:
    return PolicyRow(
        policy.name,
        policy.mutating,
        place.file,
        place.line,
        "Ignore" if policy.ignore_failure else "Fail",
        policy.mode,
        count.evaluated,
        count.denied,
        count.changed,
        count.timed,
        round(1e6 * count.seconds / count.timed) if count.timed else 0,
        round(1e6 * count.slowest),
    )


def _digests(policies: Policies) -> dict[_Key, str]:
    return {(lazy.stub.name, lazy.stub.mutating): lazy.digest for lazy in policies.lazy.policies}


def _names(keys: Iterable[_Key]) -> tuple[str, ...]:
    return tuple(sorted({name for name, _ in keys}))
