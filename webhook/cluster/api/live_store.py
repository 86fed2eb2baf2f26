"""The live `ObjectStore`: objects of any kind in an API server, by discovery and plain paths."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import orjson

from webhook.cluster.api.client import Client, Query, Write, failure, parsed
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.scope import Scope
from webhook.store.errors import NotFound
from webhook.store.objects import ALL, FIELD_MANAGER, Event, EventType, Labels, Listing, Object, key_of

PAGE: Final = 500
WATCH_SECONDS: Final = 290
"""Timeout of a watch, in seconds; then it is resumed from the last version seen."""
SILENCE: Final = 150.0
"""Seconds without an event or a bookmark (sent every minute) after which a connection counts as dead."""


@dataclass(frozen=True, slots=True)
class _Resource:
    plural: str
    scope: Scope


class LiveStore:
    """Objects in an API server. The resource of a kind is discovered once and cached."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resources: dict[GroupVersionKind, _Resource] = {}

    async def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind by discovery; None if the API server does not serve it in this version."""
        try:
            return (await self._resource(gvk)).scope
        except NotFound:
            return None

    async def list(
        self,
        gvk: GroupVersionKind,
        namespace: str | None = None,
        labels: Labels = ALL,
        fields: Labels = ALL,
    ) -> Listing:
        """Return all objects with these labels and fields, in pages, without `managedFields`."""
        path = await self._path(gvk, namespace)
        items: list[Object] = []
        query = {"limit": str(PAGE), **_selector(labels), **_selector(fields, "fieldSelector")}
        while True:
            with self._discovered(gvk):
                page = await self._client.read(path, query, 30.0)
            items += [_trim(item, gvk) for item in page.get("items") or []]
            if not (mark := page["metadata"].get("continue")):
                return Listing(items, page["metadata"]["resourceVersion"])
            query["continue"] = mark

    async def watch(
        self, gvk: GroupVersionKind, since: str, namespace: str | None = None, labels: Labels = ALL
    ) -> AsyncIterator[Event]:
        """Yield the changes after `since` until the API server ends the watch."""
        path = await self._path(gvk, namespace)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "timeoutSeconds": str(WATCH_SECONDS),
            **_selector(labels),
        }
        with self._discovered(gvk):
            async with self._client.stream(path, query, SILENCE) as lines:
                async for line in lines:
                    yield _event(line, gvk)

    async def get(self, gvk: GroupVersionKind, name: str, namespace: str | None = None) -> Object:
        """Return one object."""
        return _trim(await self._client.read(await self._path(gvk, namespace, name)), gvk)

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Create an object."""
        gvk = gvk_of(obj)
        write = await self._write("create", gvk, (key_of(obj)[0], ""), obj, _query(dry_run))
        return _trim(await self._client.write(write), gvk)

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Replace an object, or only its status."""
        gvk = gvk_of(obj)
        write = await self._write("update", gvk, key_of(obj), obj, _query(dry_run), subresource)
        return _trim(await self._client.write(write), gvk)

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
        """Merge `patch` into an object."""
        write = await self._write("patch", gvk, (namespace or "", name), patch, _query(dry_run), subresource)
        return _trim(await self._client.write(write), gvk)

    async def apply(self, obj: Object, manager: str, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Server-side apply, by force."""
        gvk, query = gvk_of(obj), {**_query(dry_run), "fieldManager": manager, "force": "true"}
        write = await self._write("apply", gvk, key_of(obj), obj, query, subresource)
        return _trim(await self._client.write(write), gvk)

    async def delete(
        self, gvk: GroupVersionKind, name: str, namespace: str | None, *, uid: str = "", grace: int | None = None
    ) -> None:
        """Delete an object; its dependents follow in the background."""
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        await self._client.write(await self._write("delete", gvk, (namespace or "", name), body, {}))

    async def _write(
        self, verb: str, gvk: GroupVersionKind, key: tuple[str, str], body: object, query: Query, subresource: str = ""
    ) -> Write:
        """Return the write request for an object by namespace and name, or without a name for a create."""
        path = await self._path(gvk, *key, subresource)
        plural = (await self._resource(gvk)).plural
        return Write(verb, path, f"{plural}/{subresource}" if subresource else plural, body, query)

    async def _path(self, gvk: GroupVersionKind, namespace: str | None, name: str = "", subresource: str = "") -> str:
        if name in (".", "..") or "/" in name or "%" in name:  # an ownerReference may have any name
            raise NotFound(f"{gvk.kind} {name!r} does not exist")
        resource = await self._resource(gvk)
        parts = [_root(gvk)]
        if resource.scope is Scope.NAMESPACED and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (resource.plural, name, subresource) if part]
        return "/".join(parts)

    @contextmanager
    def _discovered(self, gvk: GroupVersionKind) -> Iterator[None]:
        """Discover a kind again the next time if it is not found: its version may not be served any more."""
        try:
            yield
        except NotFound:
            self._resources.pop(gvk, None)
            raise

    async def _resource(self, gvk: GroupVersionKind) -> _Resource:
        if (resource := self._resources.get(gvk)) is None:
            listing = await self._client.read(_root(gvk))
            for row in listing["resources"]:
                if "/" not in row["name"]:
                    kind = GroupVersionKind(gvk.group, gvk.version, row["kind"])
                    scope = Scope.NAMESPACED if row["namespaced"] else Scope.CLUSTER
                    self._resources[kind] = _Resource(row["name"], scope)
            resource = self._resources.get(gvk)
        if resource is None:
            raise NotFound(f"the API server does not serve {gvk}")
        return resource


def _root(gvk: GroupVersionKind) -> str:
    return f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"


def _query(dry_run: bool) -> dict[str, str]:
    return {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}


def _selector(pairs: Labels, parameter: str = "labelSelector") -> dict[str, str]:
    return {parameter: ",".join(f"{name}={value}" for name, value in pairs.items())} if pairs else {}


def _trim(obj: Object, gvk: GroupVersionKind) -> Object:
    """Set the kind, which items of a list omit; drop `managedFields`, half of a small object's size."""
    obj.setdefault("apiVersion", gvk.api_version)
    obj.setdefault("kind", gvk.kind)
    obj.get("metadata", {}).pop("managedFields", None)
    return obj


def _event(line: bytes, gvk: GroupVersionKind) -> Event:
    """Parse one line of a watch. Raises the StoreError of an ERROR event (410: Expired)."""
    event = parsed(line)
    obj = event["object"]
    if event["type"] == "ERROR":
        raise failure(int(obj.get("code") or 500), {}, orjson.dumps(obj))
    return Event(EventType(event["type"]), _trim(obj, gvk))
