"""One request with all that policies can see of it; what costs something is looked up at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webhook.jobs.describe import Templates, describe, templates
from webhook.jobs.job import Job
from webhook.jobs.normalise import replace_at
from webhook.jobs.owners import owned
from webhook.policy.evaluation.authorizer import authorizers
from webhook.policy.evaluation.result import EvaluationResult, Observer
from webhook.policy.facts import Facts
from webhook.policy.match_resources import labels_of
from webhook.policy.pod_templates import EvaluationTarget, target_at
from webhook.policy.request import Request


class Closes(Protocol):
    """What refers to itself until it is closed."""

    def close(self) -> None:
        """Let go."""


class ReviewContext:
    """A request, the facts, what was derived from both, the `result` so far. `object` is replaced, never changed."""

    __slots__ = (
        "_authorizers",
        "_job",
        "_targets",
        "_targets_of",
        "_templates",
        "activations",
        "facts",
        "namespace",
        "object",
        "old",
        "owned",
        "request",
        "result",
        "whole",
    )

    def __init__(
        self,
        request: Request,
        facts: Facts,
        obj: dict[str, Any] | None,
        old: dict[str, Any] | None,
        found: Templates | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.request, self.facts, self.object, self.old = request, facts, obj, old
        self._templates = found
        self.namespace: dict[str, Any] | None = None
        """The request's Namespace, once `namespace_labels` has looked it up; None for what is in none."""
        self._authorizers: tuple[Any, Any] | None = None
        self.owned: bool | None = None
        """Whether the object is part of a job that a queue looks at as a whole; None until `look_for_owner` knows."""
        self._job: Job | None = None
        self._targets: list[EvaluationTarget] | None = None
        self._targets_of: dict[str, Any] | None = None
        self.whole = (EvaluationTarget(None, True, obj, old),)
        """The object as it is now, for policies that are evaluated on it as it stands."""
        self.activations: list[Closes] = []
        self.result = EvaluationResult(observer)

    def copy(self) -> ReviewContext:
        """Give a context of the same request and object with a result of its own; its object may be replaced."""
        context = ReviewContext(self.request, self.facts, self.object, self.old)
        context.namespace = self.namespace
        return context

    def close(self) -> None:
        """Take apart what was made for the evaluation and refers to itself."""
        for activation in self.activations:
            activation.close()

    def namespace_labels(self) -> Mapping[str, str] | None:
        """Give the labels a namespaceSelector looks at: a Namespace's own, or those of the one it is in.

        Raises Unanswered, FactError where that one is not known.
        """
        request = self.request
        if request.kind.kind == "Namespace" and request.kind.group == "":
            return labels_of(self.object or self.old or {})
        if not request.namespace:
            return None
        self.namespace = self.facts.namespace(request.namespace)
        return labels_of(self.namespace)

    def job(self) -> Job | None:
        """Give the object (of a DELETE, the old one) as a job."""
        if self._job is None:
            obj = self.object if self.object is not None else self.old
            self._job = None if obj is None else describe(obj)
        return self._job

    def pod_templates(self) -> Sequence[EvaluationTarget]:
        """Give every pod template of the job as the object has it now; the old object's at the same path beside it.

        Where templates are is looked up once; a target stays the same for as long as its template does.
        """
        obj = self.object
        if self._targets is None:
            found = self._templates if self._templates is not None or obj is None else templates(obj)
            self._targets = [target_at(obj, self.old, *one) for one in found or ()]
            self._targets_of = obj
        elif self._targets_of is not obj:
            self._targets = [target.moved(obj) for target in self._targets]
            self._targets_of = obj
        return self._targets

    def put_back(self, target: EvaluationTarget, after: dict[str, Any]) -> dict[str, Any] | None:
        """Put what a mutation made of a target into the object; give what later policies see at that place."""
        if target.path is None:
            self.object = after
            self.whole = (EvaluationTarget(None, True, after, self.old),)
            return after
        changed = target.changed(after)
        if changed is not target:
            self.object = obj = self._targets_of = replace_at(self.object, target.path, changed.template)
            self.whole = (EvaluationTarget(None, True, obj, self.old),)
            self._targets = [changed if one is target else one for one in self._targets or ()]
        return changed.object

    def authorizers(self) -> tuple[Any, Any]:
        """Give `authorizer` and `authorizer.requestResource`."""
        if self._authorizers is None:
            self._authorizers = authorizers(self.request, self.facts)
        return self._authorizers

    def look_for_owner(self) -> bool:
        """Give `owned`, which is looked up once. Raises Unanswered, FactError."""
        if self.owned is None:
            obj = self.object if self.object is not None else self.old
            self.owned = obj is not None and owned(obj, self.request.namespace, self.facts)
        return self.owned
