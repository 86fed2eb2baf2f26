"""The policies in force, how often each denied or changed, how long each takes, and what the last reload changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import msgspec

from webhook.admission.verdict import Verdict
from webhook.dashboard.model.policies import (
    ExceptionRow,
    PartKind,
    PoliciesView,
    PolicyRow,
    ReloadChange,
    ReloadRow,
    RuleFileRow,
)
from webhook.dashboard.sources import Sources
from webhook.documents import Document
from webhook.policy.bundle import digest_of
from webhook.policy.loading.lazy_bundle import LazyPolicy
from webhook.policy.queue_rules.deciding_clause import below
from webhook.policy_reload.policies import Policies
from webhook.server.policy_measures import TIMED_ONE_IN, PolicyKey, PolicyTime

PartKey = tuple[PartKind, str]
"""A kind and a name."""


@dataclass(slots=True)
class PolicyCount:
    """What became of the reviews that reached a policy."""

    evaluated: int = 0
    denied: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True)
class FilePart:
    """What is in force from one place of the files; `digest` is that of what is written."""

    digest: str
    file: str
    line: int


@dataclass(slots=True)
class PolicyLog:
    """Counts by policy since this replica started, and the last reload. Told of every verdict: it must be quick."""

    now: int
    loaded: int = 0
    reload: ReloadRow | None = None
    counts: defaultdict[PolicyKey, PolicyCount] = field(default_factory=lambda: defaultdict(PolicyCount))
    _before: dict[PartKey, FilePart] = field(default_factory=dict)
    _digest: str = ""

    def begin(self, policies: Policies) -> None:
        """Take the first set."""
        self.loaded, self._before, self._digest = self.now, _parts(policies), policies.bundle.digest

    def swapped(self, policies: Policies, now: int) -> None:
        """Note what another set changes."""
        parts, before = _parts(policies), self._before
        if policies.bundle.digest != self._digest:
            changes = sorted(_changes(before, parts), key=lambda row: (row.file, row.line, row.name))
            self.reload = ReloadRow(now, self._digest, tuple(changes))
        self.loaded, self._before, self._digest = now, parts, policies.bundle.digest

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
    """Return what is in force."""
    files = sources.policies
    policies, shown = files.current, partial(below, folders=files.paths)
    named = {str(document.at(("metadata", "name"))): document for document in policies.bundle.queue_policies}
    rules = tuple(RuleFileRow(name, shown(named[name].file) if name in named else "") for name in sources.rules.names)
    exceptions = []
    for one in policies.bundle.exceptions:
        place = one.document.place(("metadata", "name"))
        exceptions.append(
            ExceptionRow(
                one.name, tuple(sorted(one.policies)), one.reason, round(one.expires * 1000), shown(place.file),
                place.line,
                one.namespaces, not one.enabled,
            )
        )  # fmt: skip
    return PoliciesView(
        policies.bundle.digest,
        log.loaded,
        sources.started,
        TIMED_ONE_IN,
        tuple(_row(lazy, shown(lazy.place.file), log, sources) for lazy in policies.lazy.policies),
        rules,
        tuple(exceptions),
        _shown(log.reload, shown),
        files.problem,
    )  # fmt: skip


def _shown(reload: ReloadRow | None, shown: Callable[[str], str]) -> ReloadRow | None:
    if reload is None:
        return None
    changes = tuple(msgspec.structs.replace(change, file=shown(change.file)) for change in reload.changes)
    return msgspec.structs.replace(reload, changes=changes)


def _row(lazy: LazyPolicy, file: str, log: PolicyLog, sources: Sources) -> PolicyRow:
    policy = lazy.stub
    key = policy.name, policy.mutating
    count, time = log.counts.get(key) or PolicyCount(), sources.times.get(key) or PolicyTime()
    return PolicyRow(
        policy.name,
        policy.mutating,
        file,
        lazy.place.line,
        lazy.digest,
        "Ignore" if policy.ignore_failure else "Fail",
        policy.mode,
        count.evaluated,
        count.denied,
        count.changed,
        time.reviews,
        round(1e6 * time.seconds / time.reviews) if time.reviews else 0,
        round(1e6 * time.slowest),
    )


def _parts(policies: Policies) -> dict[PartKey, FilePart]:
    """Return what a set has, by kind and name."""
    found: dict[PartKey, FilePart] = {}
    for lazy in policies.lazy.policies:
        kind: PartKind = "MutatingAdmissionPolicy" if lazy.stub.mutating else "ValidatingAdmissionPolicy"
        found[kind, lazy.stub.name] = FilePart(lazy.digest, lazy.place.file, lazy.place.line)
    for document in policies.bundle.queue_policies:
        found["QueuePolicy", str(document.at(("metadata", "name")))] = _part(document)
    for one in policies.bundle.exceptions:
        found["PolicyException", one.name] = _part(one.document)
    return found


def _part(document: Document) -> FilePart:
    place = document.place(("metadata", "name"))
    return FilePart(digest_of((document.value,)), place.file, place.line)


def _changes(before: Mapping[PartKey, FilePart], after: Mapping[PartKey, FilePart]) -> Iterator[ReloadChange]:
    for (kind, name), part in after.items():
        old = before.get((kind, name))
        if old is None:
            yield ReloadChange("added", kind, name, part.file, part.line)
        elif old.digest != part.digest:
            yield ReloadChange("changed", kind, name, part.file, part.line)
    for (kind, name), part in before.items():
        if (kind, name) not in after:
            yield ReloadChange("removed", kind, name, part.file, part.line)
