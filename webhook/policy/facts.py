"""What policies may ask beside the request: Namespaces, parameters, what a user may do. Answered from memory alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from webhook.kube.gvk import GroupVersionKind
from webhook.kube.scope import Scope

Labels = Mapping[str, str]
Selector = Callable[[Labels], bool]
"""A label selector as a predicate (`webhook.kube.selectors.compile_selector`)."""


class Decision(StrEnum):
    """An authorizer's answer. `UNKNOWN`: not in memory; ask the API server and review again."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class Check:
    """May this user do this? The attributes of a SubjectAccessReview (authorization.k8s.io/v1).

    `path` is set for non-resource checks, and then only `verb` beside it. `groups` are sorted, `extra` are pairs.
    """

    user: str
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    groups: tuple[str, ...] = ()
    field_selector: str = ""
    label_selector: str = ""
    user_uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    version: str = "*"


@dataclass(frozen=True, slots=True, order=True)
class ObjectQuery:
    """What is this object? Asked of the API server where the local view does not have it yet."""

    gvk: GroupVersionKind
    namespace: str
    name: str


Question = Check | ObjectQuery


class Unanswered(Exception):
    """A question that memory has no answer to. No operator of CEL absorbs it: the whole review waits for the answer."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class FactError(Exception):
    """What a policy has to know cannot be had: its failurePolicy decides. `missing`: there is no such object."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


class Facts(Protocol):
    """The local view of the cluster: in the server an informer's store, offline the test file.

    Methods that give objects raise Unanswered where the API server must be asked, FactError where that did not help.
    """

    def namespace(self, name: str) -> dict[str, Any]:
        """Return the Namespace object. Raises Unanswered, FactError."""

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[dict[str, Any]]:
        """Return the objects of a kind: the one named, or those whose labels the selector takes, sorted by name.

        `namespace` is None for cluster-scoped kinds. Just one of `name` and `selector` is set.
        """

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind of parameters, None where it is not served."""

    def authorize(self, check: Check) -> Decision:
        """Answer a check from memory."""

    def holds(self, obj: dict[str, Any], namespace: str) -> bool:
        """Return whether the queues hold such objects there, as their settings say. Raises Unanswered, FactError."""

    @property
    def external(self) -> Collection[tuple[str, str]]:
        """Group and kind of the objects whose Workloads other controllers make (`externalFrameworks`)."""

    @property
    def switches(self) -> Mapping[str, bool]:
        """The settings of the queues, and feature gates, that are on or off; without those that nobody set."""

    def owner(self, reference: dict[str, Any], namespace: str) -> dict[str, Any] | None:
        """Return the object with the UID of an ownerReference, None where there is none (a forged or stale owner).

        Raises Unanswered, FactError.
        """

    def admitted(self, job: dict[str, Any]) -> bool:
        """Return whether the Workload of this object is admitted. Raises Unanswered, FactError."""
