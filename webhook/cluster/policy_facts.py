"""What policies may know of the cluster, from the local view; and the answers of the API server's authorizer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.admission.gate import Check, Decision, Labels, Question, Selector
from webhook.api.configuration.managed import managed
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.access_review import access_review
from webhook.cluster.api.kinds import NAMESPACE, WORKLOAD
from webhook.cluster.api.live_reads import LiveReads
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.jobs.managed import MANAGED_KINDS, ViewOwners, key_of_job
from webhook.jobs.owners import admits
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.scope import Scope
from webhook.policy.facts import FactError, ObjectQuery
from webhook.store.errors import StoreError
from webhook.store.objects import Object, key_of, uid_of

REMEMBER: Final = 10.0
"""Seconds for which an authorizer's answer is used again; the API server's own webhook cache keeps them longer."""
REMEMBERED: Final = 4096
NONE: Final[dict[tuple[str, str], Object]] = {}


class ViewFacts:
    """Answers from memory. `given` are objects that came with the policy files: params where the cluster has none."""

    def __init__(
        self, view: View, params: ParamKinds, clock: Callable[[], float], settings: QueueSettings | None = None
    ) -> None:
        self._view, self._params, self._clock = view, params, clock
        self._namespaces = view.mirror(NAMESPACE)
        self._managed, settings = managed(settings), settings or QueueSettings()
        self.switches, self.external = settings.switches, settings.external
        self._owners, self._reads = ViewOwners(view, settings), LiveReads(view.store, clock)
        self._given: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._answers: dict[Check, tuple[Decision, float]] = {}

    def give(self, objects: Iterable[Object]) -> None:
        """Replace the objects that came with the policy files."""
        given: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        for obj in objects:
            gvk = gvk_of(obj)
            given.setdefault((gvk.group, gvk.kind), {}).setdefault(key_of(obj), obj)
        self._given = given

    def namespace(self, name: str) -> dict[str, Any]:
        """Give the Namespace object; one that is not in view yet is asked for, as the API server does it."""
        found = self._namespaces.get(name)
        return self._reads.answer(ObjectQuery(NAMESPACE, "", name)) if found is None else found

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[dict[str, Any]]:
        """Give the objects of a kind by name or by label selector, sorted by name; those of the cluster go first.

        The kind is one that has a scope.
        """
        (_, live), given = self._params.listed[gvk], self._given.get((gvk.group, gvk.kind), NONE)
        if name is not None:
            found = live.get(name, namespace or "")
            if found is not None:
                return (found,)
            return _named(given, name, namespace) if given else ()
        here = {key_of(obj): obj for obj in live.all(namespace)}
        for key, obj in given.items():
            if namespace is None or key[0] in ("", namespace):
                here.setdefault(key, obj)
        return [obj for _, obj in sorted(here.items()) if selector is None or selector(_labels(obj))] if here else ()

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Give the scope of a kind of parameters by discovery, None where it is not served."""
        found = self._params.listed.get(gvk)
        return None if found is None else found[0]

    def holds(self, obj: Object, namespace: str) -> bool:
        """Say whether the queues hold such objects, by their kind and the labels of their namespace."""
        return self._managed.may_hold(obj, lambda: _labels(self.namespace(namespace)))

    def owner(self, reference: Object, namespace: str) -> Object | None:
        """Give the managed job with the uid of a reference; one that is not in view yet is asked for."""
        found = self._owners.owner(reference, namespace)
        gvk = gvk_of(reference)
        if found is not None or (gvk.group, gvk.kind) not in MANAGED_KINDS:
            return found
        found = self._asked(ObjectQuery(gvk, namespace, str(reference.get("name"))))
        return found if found is not None and uid_of(found) == reference.get("uid") else None

    def admitted(self, job: Object) -> bool:
        """Say whether the job's Workload is admitted; where it is not in view the API server is asked."""
        if self._owners.admitted(job):
            return True
        if not self._view.follows(WORKLOAD):
            return False
        key = key_of_job(job)
        found = self._asked(ObjectQuery(self._view.mirror(WORKLOAD).gvk, key.namespace, key.workload))
        return found is not None and admits(found, key.uid)

    def _asked(self, query: ObjectQuery) -> Object | None:
        try:
            return self._reads.answer(query)
        except FactError as error:
            if error.missing:
                return None
            raise

    def authorize(self, check: Check) -> Decision:
        """Give the remembered answer, UNKNOWN where it must be asked for."""
        answer = self._answers.get(check)
        if answer is None or answer[1] < self._clock():
            return Decision.UNKNOWN
        return answer[0]

    async def ask(self, questions: Sequence[Question]) -> None:
        """Ask the API server, all at once, and remember."""
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
        """Give the authorizer's answer. What cannot be asked counts as denied."""
        try:
            review = await self._view.store.create(access_review(check))
        except StoreError:
            return Decision.DENIED
        return Decision.ALLOWED if (review.get("status") or {}).get("allowed") is True else Decision.DENIED


def _named(given: Mapping[tuple[str, str], Object], name: str, namespace: str | None) -> Sequence[Object]:
    """Give the objects of a name; one whose file names no namespace is in all of them."""
    if namespace is None:
        return [obj for (_, own), obj in given.items() if own == name]
    return [given[key] for key in (("", name), (namespace, name)) if key in given]


def _labels(obj: Mapping[str, Any]) -> Labels:
    labels: Labels = (obj.get("metadata") or {}).get("labels") or {}
    return labels
