"""The policies in force, how often each denied or changed, how long each takes, and what the last reload changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from webhook.admission.verdict import Verdict
from webhook.dashboard.model.policies import ExceptionRow, PoliciesView, PolicyRow, ReloadRow, RuleFileRow
from webhook.dashboard.sources import Sources
from webhook.diagnostics import Place
from webhook.policy.model import Policy
from webhook.policy_reload.policies import Policies
from webhook.server.policy_measures import PolicyKey, PolicyTime


@dataclass(slots=True)
class PolicyCount:
    """What became of the reviews that reached a policy."""

    evaluated: int = 0
    denied: int = 0
    changed: int = 0


@dataclass(slots=True)
class PolicyLog:
    """Counts by policy since this replica started, and the last reload. Told of every verdict: it must be quick."""

    now: int
    loaded: int = 0
    reload: ReloadRow | None = None
    counts: defaultdict[PolicyKey, PolicyCount] = field(default_factory=lambda: defaultdict(PolicyCount))
    _before: dict[PolicyKey, str] = field(default_factory=dict)
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
        tuple(_row(lazy.stub, lazy.place, log, sources) for lazy in policies.lazy.policies),
        rules,
        tuple(exceptions),
        log.reload,
        files.problem,
    )  # fmt: skip


def _row(policy: Policy, place: Place, log: PolicyLog, sources: Sources) -> PolicyRow:
    key = policy.name, policy.mutating
    count, time = log.counts.get(key) or PolicyCount(), sources.times.get(key) or PolicyTime()
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
        time.reviews,
        round(1e6 * time.seconds / time.reviews) if time.reviews else 0,
        round(1e6 * time.slowest),
    )


def _digests(policies: Policies) -> dict[PolicyKey, str]:
    return {(lazy.stub.name, lazy.stub.mutating): lazy.digest for lazy in policies.lazy.policies}


def _names(keys: Iterable[PolicyKey]) -> tuple[str, ...]:
    return tuple(sorted({name for name, _ in keys}))
