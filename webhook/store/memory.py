"""An `ObjectStore` in memory: resource versions, conflicts, finalizers, garbage collection by owner, and watches.

It replaces an API server in `make run` and in tests; it validates nothing. All kinds share one version counter, as in
etcd. A watcher sees every change, or `Expired` if the version that it asks for is no longer kept.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from webhook.api.scopes import Scopes
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.scope import Scope
from webhook.kube.times import time_text
from webhook.store.errors import AlreadyExists, Conflict, Expired, NotFound, Refused
from webhook.store.objects import (
    ALL,
    Event,
    EventType,
    Labels,
    Listing,
    Object,
    copy_json,
    has_fields,
    has_labels,
    key_of,
    merge,
    uid_of,
    version_of,
)

HISTORY: Final = 10_000
"""How many changes are kept for watches that resume."""

_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_Kind = tuple[str, str]
_Key = tuple[str, str]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _new_uid() -> str:
    return str(uuid.uuid4())


class MemoryStore:
    """All objects of a simulated cluster. `now` and `new_uid` are parameters, so that a run can be repeated exactly."""

    def __init__(
        self,
        *,
        now: Callable[[], datetime] = _utc_now,
        new_uid: Callable[[], str] = _new_uid,
        history: int = HISTORY,
    ) -> None:
        self._now, self._new_uid = now, new_uid
        self._objects: dict[_Kind, dict[_Key, Object]] = {}
        self._version = 0
        self._keep = history
        self._history: list[tuple[_Kind, Event]] = []  # the last changes; the last one made version `_version`
        self._changed = asyncio.Event()

    async def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind, also by the stored CRDs; unknown kinds count as namespaced."""
        return Scopes.of(self._objects.get(_DEFINITION, {}).values()).scope(gvk)

    async def list(
        self,
        gvk: GroupVersionKind,
        namespace: str | None = None,
        labels: Labels = ALL,
        fields: Labels = ALL,
    ) -> Listing:
        """Return the objects of a kind that have `labels` and `fields`, sorted by namespace and name."""
        kept = self._objects.get(_kind(gvk), {})
        items = [o for (ns, _), o in sorted(kept.items()) if namespace in (None, ns)]
        return Listing([o for o in items if has_labels(o, labels) and has_fields(o, fields)], str(self._version))

    async def watch(
        self, gvk: GroupVersionKind, since: str, namespace: str | None = None, labels: Labels = ALL
    ) -> AsyncIterator[Event]:
        """Yield the changes after `since`, without end. Raises Expired if they are no longer kept.

        A changed object without all of `labels` is sent as DELETED, whether it had them before or not.
        """
        seen, kind = int(since or 0), _kind(gvk)
        while True:
            changed = self._changed
            if (behind := self._version - seen) > len(self._history):
                raise Expired(f"version {seen} is older than what is remembered")
            news, seen = self._history[len(self._history) - behind :], self._version
            for event_kind, event in news:
                if event_kind == kind and namespace in (None, key_of(event.object)[0]):
                    yield event if has_labels(event.object, labels) else Event(EventType.DELETED, event.object)
            if changed is self._changed:
                await changed.wait()

    async def get(self, gvk: GroupVersionKind, name: str, namespace: str | None = None) -> Object:
        """Return one object. Raises NotFound."""
        return self._find(_kind(gvk), (namespace or "", name))

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object; its name is made from `generateName` if it has none."""
        new: Object = copy_json(obj)
        meta = new.setdefault("metadata", {})
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + self._new_uid().replace("-", "")[:5]
        kind, key = _kind(gvk_of(new)), key_of(new)
        if not key[1]:
            raise Refused("metadata.name is required")
        if key in self._objects.get(kind, {}):
            raise AlreadyExists(f"{kind[1]} {'/'.join(key)} already exists")
        meta.setdefault("uid", self._new_uid())
        meta.setdefault("creationTimestamp", time_text(self._now()))
        meta["generation"] = 1
        return self._write(EventType.ADDED, kind, key, new, dry_run)

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Replace an object, or only its status."""
        kind, key = _kind(gvk_of(obj)), key_of(obj)
        old = self._find(kind, key)
        self._check(old, obj.get("metadata") or {})
        new: Object = copy_json(obj)
        new["metadata"]["uid"] = uid_of(old)
        return self._replace(kind, key, old, new, subresource, dry_run)

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
        """Merge `patch` into an object (RFC 7386)."""
        kind, key = _kind(gvk), (namespace or "", name)
        old = self._find(kind, key)
        self._check(old, patch.get("metadata") or {})
        return self._replace(kind, key, old, merge(old, patch), subresource, dry_run)

    async def apply(self, obj: Object, manager: str, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Create the object, or merge it into the stored one. Field ownership is not tracked here."""
        kind, key = _kind(gvk_of(obj)), key_of(obj)
        if key not in self._objects.get(kind, {}):
            return await self.create(obj, dry_run=dry_run)
        return await self.patch(gvk_of(obj), key[1], key[0], obj, subresource=subresource, dry_run=dry_run)

    async def delete(
        self, gvk: GroupVersionKind, name: str, namespace: str | None, *, uid: str = "", grace: int | None = None
    ) -> None:
        """Delete an object and what it owns; with finalizers it is only marked. `grace` is ignored."""
        kind, key = _kind(gvk), (namespace or "", name)
        old = self._find(kind, key)
        if uid and uid_of(old) != uid:
            raise Conflict(f"{kind[1]} {'/'.join(key)} was replaced by another object")
        if old["metadata"].get("finalizers"):
            if not old["metadata"].get("deletionTimestamp"):
                marked = merge(old, {"metadata": {"deletionTimestamp": time_text(self._now())}})
                self._write(EventType.MODIFIED, kind, key, marked, dry_run=False)
            return
        self._remove(kind, key, old)

    def _find(self, kind: _Kind, key: _Key) -> Object:
        obj = self._objects.get(kind, {}).get(key)
        if obj is None:
            raise NotFound(f"{kind[1]} {'/'.join(part for part in key if part)} does not exist")
        return obj

    def _check(self, old: Object, meta: Mapping[str, Any]) -> None:
        for name in ("resourceVersion", "uid"):
            if meta.get(name) and meta[name] != old["metadata"][name]:
                raise Conflict(
                    f"{old.get('kind')} {'/'.join(key_of(old))}: {name} is {old['metadata'][name]}, which has changed"
                )

    def _replace(self, kind: _Kind, key: _Key, old: Object, new: Object, subresource: str, dry_run: bool) -> Object:
        if subresource == "status":
            new = {**old, "status": new.get("status", {})}
        new["metadata"] = {**new["metadata"], "resourceVersion": version_of(old)}
        if new == old:
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = int(old["metadata"].get("generation") or 0) + 1
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            if not dry_run:
                self._remove(kind, key, new)
            return new
        return self._write(EventType.MODIFIED, kind, key, new, dry_run)

    def _write(self, type_: EventType, kind: _Kind, key: _Key, obj: Object, dry_run: bool) -> Object:
        if dry_run:
            return obj
        self._version += 1
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}
        self._objects.setdefault(kind, {})[key] = stored
        self._publish(kind, Event(type_, stored))
        return stored

    def _remove(self, kind: _Kind, key: _Key, obj: Object) -> None:
        """Remove the object, then what only it owned, as the garbage collector does."""
        self._version += 1
        del self._objects[kind][key]
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}
        self._publish(kind, Event(EventType.DELETED, last))
        gone = uid_of(obj)
        for other_kind, kept in list(self._objects.items()):
            for other_key, other in list(kept.items()):
                owners = other["metadata"].get("ownerReferences") or []
                if any(owner.get("uid") == gone for owner in owners) and len(owners) == 1:
                    if other["metadata"].get("finalizers"):
                        marked = merge(other, {"metadata": {"deletionTimestamp": time_text(self._now())}})
                        self._write(EventType.MODIFIED, other_kind, other_key, marked, dry_run=False)
                    elif other_key in kept:
                        self._remove(other_kind, other_key, other)

    def _publish(self, kind: _Kind, event: Event) -> None:
        self._history.append((kind, event))
        if len(self._history) > 2 * self._keep:
            del self._history[: -self._keep]
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _kind(gvk: GroupVersionKind) -> _Kind:
    return gvk.group, gvk.kind
