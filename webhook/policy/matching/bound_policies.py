"""The policies for one kind of request, with their bindings: made once, with all decided that the kind decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.policy.dependencies.reads import Path, shortest
from webhook.policy.match_resources import RequestMatcher
from webhook.policy.model import Binding, Policy
from webhook.policy.pod_templates import EvaluationTarget
from webhook.policy.request import Request

Labels = Mapping[str, str]
_KEPT: Final = 256
"""Namespaces to remember the choice for."""
_AUTHORIZER: Final = "authorizer"


@dataclass(frozen=True, slots=True, eq=False)
class BoundPolicy:
    """A policy with one of its bindings.

    `expanded`: the request is for a job kind, and the policy is evaluated on its pod templates. `matchers` are what is
    left to ask of a request, `naming` those that look at names and scope, `selecting` those that look at the labels of
    an object. `uses_authorizer`: an expression may read `authorizer`. `touches` is all that conditions and mutations
    read and write of an object, `mutations_touch` that of the mutations alone.
    """

    policy: Policy
    binding: Binding
    expanded: bool
    matchers: tuple[RequestMatcher, ...]
    naming: tuple[RequestMatcher, ...]
    selecting: tuple[RequestMatcher, ...]
    uses_authorizer: bool
    touches: tuple[Path, ...]
    mutations_touch: tuple[Path, ...]

    @classmethod
    def of(
        cls, policy: Policy, binding: Binding, matchers: Sequence[RequestMatcher | None], *, expanded: bool
    ) -> BoundPolicy:
        """Bind a policy; of the matchers those are kept that still ask something."""
        there = [matcher for matcher in matchers if matcher is not None]
        selecting = tuple(matcher for matcher in there if matcher.object_selector is not None)
        return cls(
            policy,
            binding,
            expanded,
            tuple(matcher for matcher in there if not matcher.open),
            tuple(matcher for matcher in there if matcher.rules or matcher.excludes),
            selecting,
            any(_AUTHORIZER in expression.text for expression in policy.expressions()),
            shortest([*_conditions_read(policy), *_mutations_touch(policy)]),
            shortest(_mutations_touch(policy)),
        )

    def selects(self, target: EvaluationTarget) -> bool:
        """Return whether the labels of a target match."""
        return all(matcher.selects(target.object, target.old) for matcher in self.selecting)

    def in_namespace(self, labels: Labels | None) -> bool:
        """Return whether the namespace's labels match; None for an object without a namespace."""
        return all(matcher.in_namespace(labels) for matcher in self.matchers)

    def named(self, request: Request) -> bool:
        """Return whether the request's name and scope match."""
        return all(matcher.named(request) for matcher in self.naming)


def _conditions_read(policy: Policy) -> Iterator[Path]:
    for condition in policy.conditions:
        yield from condition.expression.reads


def _mutations_touch(policy: Policy) -> Iterator[Path]:
    for mutation in policy.mutations:
        yield from mutation.expression.reads
        yield from mutation.writes


class BoundPolicies:
    """The bound policies for one kind of request, in the order of their names.

    Remembers which of them are for a namespace by the very labels that its object has: an object that facts gave is
    never changed, but replaced.
    """

    __slots__ = ("_chosen", "all")

    def __init__(self, policies: Sequence[BoundPolicy]) -> None:
        self.all = tuple(policies)
        self._chosen: dict[int, tuple[Labels, tuple[BoundPolicy, ...]]] = {}

    def choose(self, labels: Labels | None, request: Request) -> Sequence[BoundPolicy]:
        """Return the policies for a request in a namespace with these labels; None for what is in none."""
        policies = self.all if labels is None else self._in_namespace(labels)
        for bound in policies:
            if bound.naming and not bound.named(request):
                return [bound for bound in policies if bound.named(request)]
        return policies

    def _in_namespace(self, labels: Labels) -> tuple[BoundPolicy, ...]:
        held = self._chosen.get(id(labels))
        if held is not None and held[0] is labels:
            return held[1]
        policies = tuple(bound for bound in self.all if bound.in_namespace(labels))
        if len(self._chosen) >= _KEPT:
            self._chosen.clear()
        self._chosen[id(labels)] = labels, policies
        return policies
