"""What is to be done for one kind of request: a flat list, made once, with all decided that the kind decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.policy.dependencies.reads import Path, shortest
from webhook.policy.matching.matcher import RequestMatcher
from webhook.policy.model import Binding, Policy
from webhook.policy.pod_templates import EvaluationTarget
from webhook.policy.request import Request

Labels = Mapping[str, str]
_KEPT: Final = 256
"""Namespaces to remember the choice for."""
_AUTHORIZER: Final = "authorizer"
_LABELS: Final = ("metadata", "labels")


@dataclass(frozen=True, slots=True, eq=False)
class BoundPolicy:
    """A policy with one of its bindings.

    `expanded`: the request is for a job kind, and the policy is evaluated on its pod templates. `sites` are what is
    left to ask of a request, `selecting` those that look at the labels of an object. `asks`: an expression may read
    `authorizer`. `touches` is all that matching and mutating read and write of an object.
    """

    policy: Policy
    binding: Binding
    expanded: bool
    sites: tuple[RequestMatcher, ...]
    selecting: tuple[RequestMatcher, ...]
    asks: bool
    touches: tuple[Path, ...]

    @classmethod
    def of(
        cls, policy: Policy, binding: Binding, sites: Sequence[RequestMatcher | None], *, expanded: bool
    ) -> BoundPolicy:
        """Make a step; of the sites those are kept that still ask something."""
        there = [site for site in sites if site is not None]
        selecting = tuple(site for site in there if site.object_selector is not None)
        return cls(
            policy,
            binding,
            expanded,
            tuple(site for site in there if not site.open),
            selecting,
            any(_AUTHORIZER in expression.text for expression in policy.expressions()),
            shortest([*_touched(policy), *((_LABELS,) if selecting else ())]),
        )

    def takes(self, at: EvaluationTarget) -> bool:
        """Say whether the labels of what stands there are right."""
        return not self.selecting or all(site.takes(at.object, at.old) for site in self.selecting)

    def among(self, labels: Labels | None) -> bool:
        """Say whether the namespace's labels are right; None for what is in no namespace."""
        return labels is None or all(
            site.namespace_selector is None or site.namespace_selector(labels) for site in self.sites
        )

    def named(self, request: Request) -> bool:
        """Say whether the request's name and scope are right."""
        return all(site.names(request) for site in self.sites)


def _touched(policy: Policy) -> Iterator[Path]:
    for condition in policy.conditions:
        yield from condition.expression.reads
    for mutation in policy.mutations:
        yield from mutation.expression.reads
        yield from mutation.writes


class BoundPolicies:
    """The steps for one kind of request, in the order of the policies' names.

    Remembers which of them are for a namespace by the very labels that its object has: an object that facts gave is
    never changed, but replaced.
    """

    __slots__ = ("_chosen", "steps")

    def __init__(self, steps: Sequence[BoundPolicy]) -> None:
        self.steps = tuple(steps)
        self._chosen: dict[int, tuple[Labels, tuple[BoundPolicy, ...]]] = {}

    def choose(self, labels: Labels | None, request: Request) -> Sequence[BoundPolicy]:
        """Give the steps for a request in a namespace with these labels; None for what is in none."""
        steps = self.steps if labels is None else self._among(labels)
        for step in steps:
            if step.sites and not step.named(request):
                return [step for step in steps if step.named(request)]
        return steps

    def _among(self, labels: Labels) -> tuple[BoundPolicy, ...]:
        held = self._chosen.get(id(labels))
        if held is not None and held[0] is labels:
            return held[1]
        steps = tuple(step for step in self.steps if step.among(labels))
        if len(self._chosen) >= _KEPT:
            self._chosen.clear()
        self._chosen[id(labels)] = labels, steps
        return steps
