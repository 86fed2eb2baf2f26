"""Evaluates each policy by itself on sample objects: what it changes, and what fails. Namespaces are made to match.

A trial is bounded in CEL cost units, so that it finds the same on every machine; `time_limit.py` interrupts what still
takes long.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from webhook.admission.pipeline import mutate, validate
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.cel.errors import EXCEEDED, Interrupted
from webhook.jobs.job import JobKind
from webhook.jobs.kinds import KINDS, kind_of
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.schemas import built_in_kinds
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.offline.lint.context import LintContext
from webhook.offline.lint.trial.samples import SampleObject, large, samples
from webhook.offline.lint.trial.time_limit import INTERRUPTED, POLICY_SECONDS, time_limit
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.failure_policy import OUT_OF_BUDGET
from webhook.policy.match_resources import MatchResources
from webhook.policy.model import Binding, Policy
from webhook.policy.request import Request

Object = dict[str, Any]
SAMPLE_LIMIT: Final = 20_000
"""Cost units of an expression on one ordinary object. A policy that needs more is not tried on the others."""
_RESOURCES: Final = ResourceScopes()
_INNER: Final = re.compile(r'^(?:composited variable "[^"]*" fails to evaluate: )+(?=composited variable)')
"""The variables by which one that fails was read."""


@dataclass(slots=True)
class Heard:
    """Hears what clauses came to; keeps those that failed."""

    failed: dict[tuple[str, int], None] = field(default_factory=dict)
    seen: set[tuple[str, int, str]] = field(default_factory=set)
    message: str = ""

    @property
    def stopped(self) -> bool:
        """Return whether the policy ran out of what the trial may cost, or take."""
        return self.late or EXCEEDED in self.message or OUT_OF_BUDGET in self.message

    @property
    def late(self) -> bool:
        """Return whether the policy took too long, whatever it cost."""
        return INTERRUPTED in self.message

    def why(self) -> str:
        """Return why the only clause that failed did; empty where several did."""
        told = self.message.partition(" resulted in error: ")[2] or self.message.partition(": ")[2]
        told = _INNER.sub("", told)
        line = told.splitlines()[0] if told else ""
        return f": {line}" if line and len(self.failed) == 1 else ""

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take note of a clause's outcome."""
        self.seen.add((clause, index, outcome))
        if outcome == "error":
            self.failed[(clause, index)] = None


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What became of one policy on one sample."""

    sample: SampleObject
    heard: Heard


class PolicyTrial:
    """Policies made ready to be tried: no namespace selectors, failures told, objects of the files as facts.

    Authorizer checks succeed. A policy that was `stopped` on one object is not run on any other.
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        self.facts = FileFacts(objects, {}, authorized=True)
        self.stopped: set[tuple[str, bool]] = set()
        self.seconds: Counter[tuple[str, bool]] = Counter()
        self._ordinary: dict[tuple[str, bool], tuple[TrialOutcome, ...]] = {}

    def alone(self, policy: Policy, limit: int = SAMPLE_LIMIT) -> Bundle:
        """Return a bundle of one policy, for every namespace; `limit` is for one call, half of it for an object."""
        bindings = tuple(_everywhere(b) for b in policy.bindings) or (Binding("trial", ("Deny",), None, None),)
        ready = replace(
            policy,
            match=_open(policy.match),
            bindings=bindings,
            ignore_failure=False,
            mode="enforce",
            cost_limits=(2 * limit, limit),
        )
        return Bundle.of([ready])

    def heard(self, policy: Policy, bundle: Bundle, request: Request) -> Heard:
        """Evaluate a bundle of one policy, and give what its clauses came to."""
        heard = Heard()
        if policy.mutating:
            self.changed(bundle, request, heard)
            return heard
        return self.judge(bundle, request)

    def ordinary(self, policy: Policy) -> tuple[TrialOutcome, ...]:
        """Run a policy on every sample it is for, as far as its cost allows; found out once."""
        key = (policy.name, policy.mutating)
        if key not in self._ordinary:
            self._ordinary[key] = tuple(self._outcomes(policy, key))
        return self._ordinary[key]

    def _outcomes(self, policy: Policy, key: tuple[str, bool]) -> Iterator[TrialOutcome]:
        bundle = self.alone(policy)
        for sample, request in requests_for(policy, ()):
            heard = self.heard(policy, bundle, request)
            if heard.stopped:
                self.stopped.add(key)
                yield TrialOutcome(sample, heard)
                return
            if heard.seen:
                yield TrialOutcome(sample, heard)

    def changed(self, bundle: Bundle, request: Request, heard: Heard | None = None) -> Object | None:
        """Return the object as a mutating bundle leaves it; None where no policy of it ran, or one failed."""
        if any((policy.name, policy.mutating) in self.stopped for policy in bundle.policies):
            return None
        heard = heard or Heard()
        verdict = self._reviewed(
            bundle, heard, lambda: mutate(request, bundle, self.facts, observer=heard, clock=_never)
        )
        if not isinstance(verdict, Verdict) or not verdict.allowed or not verdict.policies:
            return None
        return verdict.object if verdict.patch else request.object

    def judge(self, bundle: Bundle, request: Request) -> Heard:
        """Evaluate a validating bundle and give what its clauses came to."""
        heard = Heard()
        self._reviewed(bundle, heard, lambda: validate(request, bundle, self.facts, observer=heard, clock=_never))
        return heard

    def _reviewed(
        self, bundle: Bundle, heard: Heard, review: Callable[[], Verdict | NeedsFacts]
    ) -> Verdict | NeedsFacts | None:
        """Review within what is left of the policies' time; None where that was interrupted between expressions."""
        keys = [(policy.name, policy.mutating) for policy in bundle.policies]
        verdict, begun = None, time.process_time()
        try:
            with time_limit(POLICY_SECONDS - max((self.seconds[key] for key in keys), default=0.0)):
                verdict = review()
        except Interrupted as stop:
            heard.message = str(stop)
        took = time.process_time() - begun
        self.seconds.update(dict.fromkeys(keys, took))
        if isinstance(verdict, Verdict):
            heard.message = verdict.message
        if heard.late:
            self.stopped.update(keys)
        return verdict


def trial_of(context: LintContext) -> PolicyTrial:
    """Return the trial of a run of lint, the same for every rule."""
    if "trial" not in context.memo:
        context.memo["trial"] = PolicyTrial((*context.bundle.objects, *(s.value for s in context.subjects)))
    found: PolicyTrial = context.memo["trial"]
    return found


def _never() -> float:
    return 0.0


def _everywhere(binding: Binding) -> Binding:
    match = None if binding.match is None else _open(binding.match)
    return replace(binding, match=match, actions=("Deny",))


def _open(match: MatchResources) -> MatchResources:
    return replace(match, namespace_selector=None)


@cache
def _ordinary(operation: str) -> tuple[tuple[SampleObject, Request], ...]:
    """Return all samples as requests; policies never change what they are given."""
    sender = Sender(operation, namespace="team-a")
    return tuple(
        (sample, request_for(received(sample.obj, _RESOURCES, sender), _RESOURCES, sender)) for sample in samples()
    )


def requests_for(policy: Policy, extra: Iterable[Object]) -> Iterator[tuple[SampleObject, Request]]:
    """Yield the samples a policy may be for as requests of its first operation; `extra` are objects of the files."""
    operations = {o for rule in policy.match.rules for o in rule.operations}
    operation = "CREATE" if operations & {"CREATE", "*"} or not operations else "UPDATE"
    sender = Sender(operation, namespace="team-a")
    yield from _ordinary(operation)
    own = [SampleObject(f"{o.get('kind')} {(o.get('metadata') or {}).get('name')}", o) for o in extra]
    for sample in own:
        gvk = gvk_of(sample.obj)
        if kind_of(gvk.group, gvk.kind) is not None:
            yield sample, request_for(received(sample.obj, _RESOURCES, sender), _RESOURCES, sender)


def others_for(policy: Policy) -> Iterator[tuple[SampleObject, Request]]:
    """Yield a bare object of each kind that a policy names and that is no job: enough to see what it writes there."""
    sender = Sender(namespace="team-a")
    named = {(g, v, name) for r in policy.match.rules for g in r.groups for v in r.versions for name, _ in r.resources}
    for group, version, resource in sorted(named):
        if not resource or "*" in (group, resource) or any((k.group, k.resource) == (group, resource) for k in KINDS):
            continue
        kinds = [k for k in built_in_kinds() if (k.group, _RESOURCES.of_kind(k)) == (group, resource)]
        kind = kinds[0].kind if kinds else resource.removesuffix("s").capitalize()
        gvk = GroupVersionKind(group, version if version not in ("", "*") else "v1", kind)
        obj = {"apiVersion": gvk.api_version, "kind": kind, "metadata": {"name": "sample", "namespace": "team-a"}}
        obj |= {} if kinds else {"spec": {}}
        yield SampleObject(f"a minimal {gvk}", obj), request_for(received(obj, _RESOURCES, sender), _RESOURCES, sender)


def large_request(policy: Policy) -> tuple[SampleObject, Request] | None:
    """Return a very large object of the first job kind that a policy is for, as a request."""
    for kind in KINDS:
        about = any(
            {"*", kind.group} & rule.groups and {"*", kind.resource} & {name for name, _ in rule.resources}
            for rule in policy.match.rules
        )
        if about and kind.templates:
            return _large(kind)
    return None


@cache
def _large(kind: JobKind) -> tuple[SampleObject, Request]:
    sample, sender = large(kind), Sender(namespace="team-a")
    return sample, request_for(received(sample.obj, _RESOURCES, sender), _RESOURCES, sender)


def again(request: Request, obj: Object) -> Request:
    """Return the same request for another state of its object."""
    return replace(request, object=obj)
