"""One request with all that policies can see of it; what costs something is looked up at most once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from webhook.api.configuration.sections import MANAGE_UNNAMED
from webhook.cel.budget import Budget
from webhook.jobs.job import Job
from webhook.jobs.owners import owned
from webhook.jobs.read_job import queue_of, read_job
from webhook.policy.evaluation.authorizer import authorizers
from webhook.policy.evaluation.observers import CostObserver, Observer
from webhook.policy.evaluation.result import EvaluationResult
from webhook.policy.facts import Facts
from webhook.policy.match_resources import labels_of
from webhook.policy.model import Policy
from webhook.policy.pod_templates import Targets
from webhook.policy.request import Request


class Closes(Protocol):
    """What refers to itself until it is closed: the values that a policy's expressions see on one object."""

    policy: Policy
    budget: Budget

    def close(self) -> None:
        """Break reference cycles."""


class ReviewContext:
    """A request, the facts, what was derived from both, what policies are evaluated on, and the `result` so far."""

    __slots__ = (
        "_authorizers",
        "_job",
        "activations",
        "facts",
        "held",
        "namespace",
        "owned",
        "request",
        "result",
        "targets",
    )

    def __init__(
        self,
        request: Request,
        facts: Facts,
        targets: Targets,
        observer: Observer | None = None,
    ) -> None:
        self.request, self.facts, self.targets = request, facts, targets
        self.namespace: dict[str, Any] | None = None
        """The request's Namespace, once `namespace_labels` has looked it up; None for what is in none."""
        self._authorizers: tuple[Any, Any] | None = None
        self.owned: bool | None = None
        """Whether the object is part of a job that a queue looks at as a whole; None until `look_for_owner` knows."""
        self.held: bool | None = None
        """Whether the queues hold such objects, as their settings say; None until `is_held` knows."""
        self._job: Job | None = None
        self.activations: list[Closes] = []
        self.result = EvaluationResult(observer)

    def copy(self) -> ReviewContext:
        """Return a context of the same request and object with a result of its own; its object may be replaced."""
        context = ReviewContext(self.request, self.facts, Targets(self.targets.object, self.targets.old))
        context.namespace = self.namespace
        return context

    def close(self) -> None:
        """Take apart what was made for the evaluation and refers to itself; count what it cost, where that is asked."""
        observer = self.result.observer
        if observer is not None and isinstance(observer, CostObserver):  # slow to ask
            self._count_costs(observer)
        for activation in self.activations:
            activation.close()

    def _count_costs(self, observer: CostObserver) -> None:
        budgets = {id(activation.budget): activation for activation in self.activations}
        for activation in budgets.values():
            activation.budget.settle()
            observer.spent(activation.policy, activation.policy.cost_limits[0] - activation.budget.remaining)

    @property
    def present(self) -> dict[str, Any] | None:
        """The object as it is now; of a DELETE the old one."""
        targets = self.targets
        return targets.object if targets.object is not None else targets.old

    def namespace_labels(self) -> Mapping[str, str] | None:
        """Return the labels a namespaceSelector looks at: a Namespace's own, or those of the one it is in.

        Raises Unanswered, FactError where that one is not known.
        """
        request = self.request
        if request.kind.kind == "Namespace" and request.kind.group == "":
            return labels_of(self.targets.object or self.targets.old or {})
        if not request.namespace:
            return None
        self.namespace = self.facts.namespace(request.namespace)
        return labels_of(self.namespace)

    def job(self) -> Job | None:
        """Return the object (of a DELETE, the old one) as a job."""
        if self._job is None:
            obj = self.present
            self._job = None if obj is None else read_job(obj)
        return self._job

    def authorizers(self) -> tuple[Any, Any]:
        """Return `authorizer` and `authorizer.requestResource`."""
        if self._authorizers is None:
            self._authorizers = authorizers(self.request, self.facts)
        return self._authorizers

    def is_held(self) -> bool:
        """Return `held`, which is looked up once. Raises Unanswered, FactError."""
        if self.held is None:
            obj = self.present
            self.held = obj is None or self.facts.holds(obj, self.request.namespace)
        return self.held

    def look_for_owner(self) -> bool:
        """Return `owned`, which is looked up once. Raises Unanswered, FactError."""
        if self.owned is None:
            obj = self.present
            managed = _every if self.facts.switches.get(MANAGE_UNNAMED) else queue_of
            self.owned = obj is not None and owned(obj, self.request.namespace, self.facts, managed)
        return self.owned


def _every(job: dict[str, Any]) -> object:
    return True
