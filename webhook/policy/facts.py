"""What policies may ask about the world beside the request. Answered from memory only; never a call to a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


class Facts(Protocol):
    """The local view of the cluster: in the server an informer's store, offline the test file."""

    def namespace(self, name: str) -> dict[str, Any] | None:
        """Give the Namespace object, None where it is not known."""

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[dict[str, Any]]:
        """Give the objects of a kind: the one named, or those whose labels the selector takes, sorted by name.

        `namespace` is None for cluster-scoped kinds. Just one of `name` and `selector` is set.
        """

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Give the scope of a kind of parameters, None where it is not served."""

    def authorize(self, check: Check) -> Decision:
        """Answer a check from memory."""

    def owner(self, uid: str) -> dict[str, Any] | None:
        """Give the object with this UID from the local view, None where there is none (a forged or stale owner)."""

    def admitted(self, job: dict[str, Any]) -> bool:
        """Say whether the Workload of this object is admitted."""
