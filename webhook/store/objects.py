"""The `ObjectStore` protocol: how the rest of Sluice reads and writes the objects of a cluster.

Objects are plain dicts from JSON and belong to the store: copy one before you change it. Versions are opaque strings,
as in the API conventions of Kubernetes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Protocol

from webhook.kube.gvk import GroupVersionKind
from webhook.kube.scope import Scope

Object = dict[str, Any]
Labels = Mapping[str, str]
ALL: Labels = MappingProxyType({})
"""No labels required: all objects match."""
FIELD_MANAGER: Final = "sluice"
"""The field manager of everything that Sluice writes, by which policies can recognize its writes."""


class EventType(StrEnum):
    """The types of a watch event that reach a caller; ERROR becomes an exception."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class Event:
    """A change. For DELETED the object is its last state; for BOOKMARK only its resourceVersion counts."""

    type: EventType
    object: Object


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind at one version, from which a watch can start."""

    items: Sequence[Object]
    version: str


class ObjectStore(Protocol):
    """List, watch and write objects of any kind. Every method raises `StoreError`s; see `errors.py` for which."""

    async def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind, None where objects of this kind and version cannot be stored here."""

    async def list(
        self,
        gvk: GroupVersionKind,
        namespace: str | None = None,
        labels: Labels = ALL,
        fields: Labels = ALL,
    ) -> Listing:
        """List the objects of a kind that have `labels`, in one namespace or in all; a consistent read, never a cache.

        `labels` are pairs that must all be there; `fields` too, by dotted path, of those that can be selected by.
        """

    def watch(
        self, gvk: GroupVersionKind, since: str, namespace: str | None = None, labels: Labels = ALL
    ) -> AsyncIterator[Event]:
        """Yield the changes after version `since` as they come. Ends, or raises Expired, when it must be renewed.

        An object that loses one of `labels` is sent as DELETED, one that gets the last of them as ADDED.
        """

    async def get(self, gvk: GroupVersionKind, name: str, namespace: str | None = None) -> Object:
        """Return one object. Raises NotFound."""

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object and return it as stored. Raises AlreadyExists."""

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Replace an object (or only its status); its resourceVersion must be the stored one. Raises Conflict."""

    async def patch(
        self,
        gvk: GroupVersionKind,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Merge `patch` into an object (RFC 7386). A resourceVersion or uid inside it is a precondition: Conflict."""

    async def apply(self, obj: Object, manager: str, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Server-side apply: create the object or take ownership of the given fields, by force."""

    async def delete(
        self, gvk: GroupVersionKind, name: str, namespace: str | None, *, uid: str = "", grace: int | None = None
    ) -> None:
        """Delete an object in the background; `uid` is a precondition. Raises NotFound, Conflict.

        `grace` is how many seconds a Pod gets to end; 0 waits for no kubelet.
        """


def key_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    """Return an object's namespace (empty where it has none) and name."""
    meta = obj.get("metadata") or {}
    return meta.get("namespace") or "", meta.get("name") or ""


def has_labels(obj: Mapping[str, Any], labels: Labels) -> bool:
    """Return whether an object has all of these labels."""
    own = (obj.get("metadata") or {}).get("labels") or {}
    return all(own.get(name) == value for name, value in labels.items())


def has_fields(obj: Mapping[str, Any], fields: Labels) -> bool:
    """Return whether an object has all of these values, by dotted path (`spec.nodeName`)."""
    for path, value in fields.items():
        field: Any = obj
        for part in path.split("."):
            field = field.get(part) if isinstance(field, Mapping) else None
        if field != value:
            return False
    return True


def uid_of(obj: Mapping[str, Any]) -> str:
    """Return an object's uid, or an empty string."""
    return str((obj.get("metadata") or {}).get("uid") or "")


def version_of(obj: Mapping[str, Any]) -> str:
    """Return an object's resourceVersion, or an empty string."""
    return str((obj.get("metadata") or {}).get("resourceVersion") or "")


def copy_json(value: Any) -> Any:
    """Copy dicts and lists of a JSON document; several times faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def merge(target: Any, patch: Any) -> Any:
    """Return `target` with a JSON merge patch applied (RFC 7386); neither argument is changed."""
    if not isinstance(patch, Mapping):
        return copy_json(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out
