"""Facts for policies from the local view, and decisions of the API server's authorizer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.admission.gate import Check, Decision, Labels, Question, Selector
from webhook.api.configuration.managed import managed
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.access_review import access_review
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.live_reads import LiveReads
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.jobs.managed import MANAGED_KINDS, ViewOwners, key_of_job
from webhook.jobs.owners import admits
from webhook.kube.gvk import NAMESPACE, GroupVersionKind, gvk_of
from webhook.kube.scope import Scope
from webhook.kube.typed.defaulted import defaulted
from webhook.policy.facts import FactError, ObjectQuery
from webhook.store.errors import StoreError
from webhook.store.objects import Object, key_of, uid_of

REMEMBER: Final = 10.0
"""Seconds for which an authorizer's decision is cached; the API server's own webhook cache is longer."""
REMEMBERED: Final = 4096
NONE: Final[dict[tuple[str, str], Object]] = {}


class ViewFacts:
    """Facts from memory. Objects from the policy files are used as params that the cluster does not have."""

    def __init__(
        self, view: View, params: ParamKinds, clock: Callable[[], float], settings: QueueSettings | None = None
    ) -> None:
        self._view, self._params, self._clock = view, params, clock
        self._namespaces = view.informer(NAMESPACE)
        self._managed, settings = managed(settings), settings or QueueSettings()
        self.switches, self.external = settings.switches, settings.external
        self._owners, self._reads = ViewOwners(view, settings), LiveReads(view.store, clock)
        self._from_files: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._answers: dict[Check, tuple[Decision, float]] = {}

    def give(self, objects: Iterable[Object]) -> None:
        """Replace the objects from the policy files; they get the defaults that an API server would give them.

        Of equal names the last counts, as it does where files are applied.
        """
        by_kind: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        for obj in map(defaulted, objects):
            gvk = gvk_of(obj)
            by_kind.setdefault((gvk.group, gvk.kind), {})[key_of(obj)] = obj
        self._from_files = by_kind

    def namespace(self, name: str) -> dict[str, Any]:
        """Return the Namespace. Raises Unanswered if it has to be read, FactError if it is missing or unreadable."""
        obj = self._namespaces.get(name)
        return self._reads.answer(ObjectQuery(NAMESPACE, "", name)) if obj is None else obj

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[dict[str, Any]]:
        """Return objects of a kind by name or label selector, sorted by name; the cluster's take precedence.

        Raises KeyError for a kind whose `scope` is None.
        """
        (_, live), from_files = self._params.listed[gvk], self._from_files.get((gvk.group, gvk.kind), NONE)
        if name is not None:
            match = live.get(name, namespace or "")
            if match is not None:
                return (match,)
            return _named(from_files, name, namespace) if from_files else ()
        here = {key_of(obj): obj for obj in live.all(namespace)}
        for key, obj in from_files.items():
            if namespace is None or key[0] in ("", namespace):
                here.setdefault(key, obj)
        return [obj for _, obj in sorted(here.items()) if selector is None or selector(_labels(obj))] if here else ()

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind of parameters by discovery, None if it is not served."""
        listed_kind = self._params.listed.get(gvk)
        return None if listed_kind is None else listed_kind[0]

    def holds(self, obj: Object, namespace: str) -> bool:
        """Return whether the queues hold such an object, by its kind and the labels of its namespace."""
        return self._managed.may_hold(obj, lambda: _labels(self.namespace(namespace)))

    def owner(self, reference: Object, namespace: str) -> Object | None:
        """Return the managed job with the uid of a reference, or None. Raises Unanswered if it has to be read."""
        candidate = self._owners.owner(reference, namespace)
        gvk = gvk_of(reference)
        if candidate is not None or (gvk.group, gvk.kind) not in MANAGED_KINDS:
            return candidate
        candidate = self._asked(ObjectQuery(gvk, namespace, str(reference.get("name"))))
        return candidate if candidate is not None and uid_of(candidate) == reference.get("uid") else None

    def admitted(self, job: Object) -> bool:
        """Return whether the job's Workload is admitted. Raises Unanswered if it has to be read."""
        if self._owners.admitted(job):
            return True
        if not self._view.follows(WORKLOAD):
            return False
        key = key_of_job(job)
        workload = self._asked(ObjectQuery(self._view.informer(WORKLOAD).gvk, key.namespace, key.workload))
        return workload is not None and admits(workload, key.uid)

    def _asked(self, query: ObjectQuery) -> Object | None:
        try:
            return self._reads.answer(query)
        except FactError as error:
            if error.missing:
                return None
            raise

    def authorize(self, check: Check) -> Decision:
        """Return the cached decision, UNKNOWN if there is none."""
        answer = self._answers.get(check)
        if answer is None or answer[1] < self._clock():
            return Decision.UNKNOWN
        return answer[0]

    async def ask(self, questions: Sequence[Question]) -> None:
        """Answer all questions by the API server, concurrently, and cache the answers."""
        await asyncio.gather(*(self._answer(question) for question in questions))

    async def _answer(self, question: Question) -> None:
        if isinstance(question, ObjectQuery):
            await self._reads.fetch(question)
            return
        answer = await self._ask(question)
        if len(self._answers) > REMEMBERED:
            self._answers.clear()
        self._answers[question] = answer, self._clock() + REMEMBER

    async def _ask(self, check: Check) -> Decision:
        """Return the authorizer's decision; DENIED if the request fails."""
        try:
            review = await self._view.store.create(access_review(check))
        except StoreError:
            return Decision.DENIED
        return Decision.ALLOWED if (review.get("status") or {}).get("allowed") is True else Decision.DENIED


def _named(objects: Mapping[tuple[str, str], Object], name: str, namespace: str | None) -> Sequence[Object]:
    """Return the object with this name; one without a namespace counts in every namespace that has none of its own."""
    if namespace is None:
        return [obj for (_, own), obj in objects.items() if own == name]
    found = objects.get((namespace, name)) or objects.get(("", name))
    return () if found is None else (found,)


def _labels(obj: Mapping[str, Any]) -> Labels:
    labels: Labels = (obj.get("metadata") or {}).get("labels") or {}
    return labels
