"""Which policies are for which kind of request, decided once per kind and kept.

A thousand policies of which ten match cost what the ten cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.jobs.kinds import BY_RESOURCE
from webhook.policy.match_resources import Fields, RequestMatcher, ResourceOperation, fields_of
from webhook.policy.matching.bound_policies import BoundPolicies, BoundPolicy
from webhook.policy.model import Binding, Policy
from webhook.policy.request import Request

_KEPT: Final = 2048
"""Kinds of requests to remember; a cluster has a few hundred resources."""
NEVER_JUDGED: Final = frozenset(
    {
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""Resources that no policy judges (apiserver 1.36, admission/plugin/policy/generic): policies, and access reviews.

Webhook configurations are judged by the API server's own engine, though no webhook is asked about them.
"""
_PODS: Final = ("", "v1", "pods")


@dataclass(frozen=True, slots=True)
class MatchedPolicy:
    """A policy that can match requests of a kind, with those of its bindings that can.

    `expanded`: the request is for a job kind, and the policy is evaluated on its pod templates.
    """

    policy: Policy
    matcher: RequestMatcher
    bindings: tuple[tuple[Binding, RequestMatcher | None], ...]
    expanded: bool


class Index:
    """The policies of a bundle by kind of request. Only remembers; the same question always has the same answer.

    `known` are the kinds that were asked for. `whole` gives the policy itself where `policies` have only what matches.
    """

    __slots__ = ("_policies", "_whole", "known")

    def __init__(self, policies: Sequence[Policy], whole: Callable[[Policy], Policy] | None = None) -> None:
        self._policies, self._whole = tuple(policies), whole
        self.known: dict[Fields, BoundPolicies] = {}

    def policies_for(self, request: Request) -> BoundPolicies:
        """Return the policies for requests of this kind."""
        key = fields_of(request)
        found = self.known.get(key)
        if found is None:
            if len(self.known) >= _KEPT:
                self.known.clear()
            found = self.known[key] = BoundPolicies(list(self._bound(ResourceOperation(*key))))
        return found

    def _bound(self, target: ResourceOperation) -> Iterator[BoundPolicy]:
        if (target.group, target.resource) in NEVER_JUDGED:
            return
        for policy in self._policies:
            entry = entry_for(policy, target)
            if entry is not None and self._whole is not None:
                entry = entry_for(self._whole(policy), target)
            if entry is not None:
                for binding, matcher in entry.bindings:
                    yield BoundPolicy.of(entry.policy, binding, (entry.matcher, matcher), expanded=entry.expanded)


def entry_for(policy: Policy, target: ResourceOperation) -> MatchedPolicy | None:
    """Decide for one policy and one kind of request; None where they never meet."""
    targets = targets_of(policy, target)
    matcher = policy.match.narrow(targets)
    if matcher is None:
        return None
    bindings = []
    for binding in policy.bindings:
        narrowed = None if binding.match is None else binding.match.narrow(targets)
        if binding.match is None or narrowed is not None:
            bindings.append((binding, narrowed))
    return MatchedPolicy(policy, matcher, tuple(bindings), len(targets) > 1) if bindings else None


def targets_of(policy: Policy, target: ResourceOperation) -> tuple[ResourceOperation, ...]:
    """Return the kinds of request that select a policy: for pod templates those of Pods, else the request's own."""
    if policy.expand and is_job(target):
        return ResourceOperation(*_PODS, "", target.operation), target
    return (target,)


def is_job(target: ResourceOperation) -> bool:
    """Return whether requests of this kind carry pod templates that a policy on Pods is expanded into."""
    resource = (target.group, target.resource)
    return not target.sub_resource and resource in BY_RESOURCE and resource != ("", "pods")
