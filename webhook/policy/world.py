"""One request with all that policies can see of it; what costs something is looked up at most once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.jobs.describe import describe
from webhook.jobs.model import Job
from webhook.kube.gvk import gvk_of
from webhook.policy.authorizer import authorizers
from webhook.policy.facts import Facts
from webhook.policy.match import labels_of
from webhook.policy.request import Request

_DEPTH: Final = 10
"""How far the chain of owners is followed."""


class World:
    """A request, the facts, and what was derived from both."""

    __slots__ = (
        "_asked",
        "_authorizer",
        "_context",
        "_described",
        "_job",
        "_labelled",
        "_labels",
        "_namespace",
        "_owned",
        "attributes",
        "facts",
        "object",
        "old",
        "request",
    )

    def __init__(
        self,
        request: Request,
        facts: Facts,
        obj: dict[str, Any] | None,
        old: dict[str, Any] | None,
        job: Job | None = None,
    ) -> None:
        self.request, self.facts, self.object, self.old = request, facts, obj, old
        self.attributes = request.attributes
        self._namespace: dict[str, Any] | None = None
        self._asked = False
        self._labels: Mapping[str, str] | None = None
        self._labelled = False
        self._owned: bool | None = None
        self._job = job
        self._described = job is not None
        self._authorizer: tuple[Any, Any] | None = None
        self._context: tuple[Any, Any, Any, Any] | None = None

    def namespace(self) -> dict[str, Any] | None:
        """Give the request's Namespace; None for what is in none, and for a Namespace itself.

        One that is not known yet stands in with its name and the label every namespace has.
        """
        if not self._asked:
            self._asked = True
            request, name = self.request, self.request.namespace
            if not name or (request.kind.group == "" and request.kind.kind == "Namespace"):
                return None
            self._namespace = self.facts.namespace(name) or {
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {},
                "status": {},
            }
        return self._namespace

    def namespace_labels(self) -> Mapping[str, str] | None:
        """Give the labels a namespaceSelector looks at: a Namespace's own, or those of the one it is in."""
        if not self._labelled:
            self._labelled = True
            request = self.request
            if request.kind.group == "" and request.kind.kind == "Namespace":
                self._labels = labels_of(self.object or self.old or {})
            else:
                namespace = self.namespace()
                self._labels = None if namespace is None else labels_of(namespace)
        return self._labels

    def job(self) -> Job | None:
        """Give the object (of a DELETE, the old one) as a job."""
        if not self._described:
            self._described = True
            obj = self.object if self.object is not None else self.old
            self._job = None if obj is None else describe(obj)
        return self._job

    def authorizers(self) -> tuple[Any, Any]:
        """Give `authorizer` and `authorizer.requestResource`."""
        if self._authorizer is None:
            self._authorizer = authorizers(self.request, self.facts)
        return self._authorizer

    def context(self) -> tuple[Any, Any, Any, Any]:
        """Give what every expression sees beside the object: request, Namespace, and both authorizers."""
        if self._context is None:
            self._context = (self.attributes, self.namespace(), *self.authorizers())
        return self._context

    def owned(self) -> bool:
        """Say whether a controller above the object is a job that waits in a queue itself."""
        if self._owned is None:
            obj = self.object if self.object is not None else self.old
            self._owned = obj is not None and owned_by_workload(obj, self.request.namespace, self.facts)
        return self._owned


def owned_by_workload(obj: dict[str, Any], namespace: str, facts: Facts) -> bool:
    """Follow the controller references, by UID in the local view, to a job that is queued as a whole.

    A reference to an object that is not there, or that is another than it says, counts as none. A CronJob and a
    Deployment are no such owners: what they make is queued by itself.
    """
    for _ in range(_DEPTH):
        owner = _controller(obj, namespace, facts)
        if owner is None:
            return False
        job = describe(owner)
        if job is not None and job.kind.queued:
            return True
        obj = owner
    return False


def _controller(obj: dict[str, Any], namespace: str, facts: Facts) -> dict[str, Any] | None:
    metadata = obj.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True and reference.get("uid"):
            owner = facts.owner(str(reference["uid"]))
            return owner if owner is not None and _is(owner, reference, namespace) else None
    return None


def _is(owner: dict[str, Any], reference: dict[str, Any], namespace: str) -> bool:
    """Say whether the object found is the one the reference names, in the same namespace."""
    metadata = owner.get("metadata") or {}
    group = str(reference.get("apiVersion") or "").rpartition("/")[0]
    kind = gvk_of(owner)
    return (
        metadata.get("name") == reference.get("name")
        and (kind.group, kind.kind) == (group, reference.get("kind"))
        and metadata.get("namespace") in (None, "", namespace)
    )
