"""Every write of the controller goes through here: only while this replica leads, and seen at once in the view."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.store.errors import NotFound
from webhook.store.objects import Object, key_of, version_of


class NotLeading(Exception):
    """This replica does not lead (any more), so it must not write."""


class LeaderWriter:
    """Writes objects with the version they were read at as a precondition."""

    def __init__(self, view: View, leads: Callable[[], bool], now: Callable[[], datetime]) -> None:
        self._view, self._leads, self._now = view, leads, now

    def stamp(self) -> str:
        """Give the time as Kubernetes writes it."""
        return self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def status(self, obj: Object, status: dict[str, Any]) -> Object:
        """Write the status of an object, if it is still as it was read. Raises Conflict."""
        gvk, (namespace, name) = gvk_of(obj), key_of(obj)
        patch = {"metadata": {"resourceVersion": version_of(obj)}, "status": status}
        self._may_write()
        return self._keep(await self._view.store.patch(gvk, name, namespace, patch, subresource="status"))

    async def metadata(self, obj: Object, fields: dict[str, Any]) -> Object:
        """Merge into the metadata of an object, if it is still as it was read. Raises Conflict."""
        gvk, (namespace, name) = gvk_of(obj), key_of(obj)
        patch = {"metadata": {"resourceVersion": version_of(obj), **fields}}
        self._may_write()
        return self._keep(await self._view.store.patch(gvk, name, namespace, patch))

    async def own(self, obj: Object, fields: dict[str, Any]) -> None:
        """Merge into the metadata of an object of a kind that is not followed, as it is now."""
        namespace, name = key_of(obj)
        self._may_write()
        await self._view.store.patch(gvk_of(obj), name, namespace, {"metadata": fields})

    async def replace(self, obj: Object) -> Object:
        """Write an object anew, if it is still as it was read. Raises Conflict."""
        self._may_write()
        return self._keep(await self._view.store.update(obj))

    async def create(self, obj: Object) -> Object:
        """Create an object."""
        self._may_write()
        return self._keep(await self._view.store.create(obj))

    async def delete(self, obj: Object, grace: int | None = None) -> None:
        """Delete an object, if it is still the same one; a Pod with `grace` 0 is gone without its kubelet."""
        namespace, name = key_of(obj)
        self._may_write()
        await self._view.store.delete(gvk_of(obj), name, namespace, uid=obj["metadata"]["uid"], grace=grace)

    async def refresh(self, gvk: GroupVersionKind, namespace: str, name: str) -> Object | None:
        """Read an object from the store itself and put it into the view; None where it is gone."""
        try:
            obj = await self._view.store.get(gvk, name, namespace)
        except NotFound:
            old = self._view.mirror(gvk).get(name, namespace)
            if old is not None:
                self._view.mirror(gvk).drop(old)
            return None
        return self._keep(obj)

    async def refresh_workload(self, workload: Object) -> Object | None:
        """Read a Workload from the store itself."""
        return await self.refresh(WORKLOAD, *key_of(workload))

    def _may_write(self) -> None:
        if not self._leads():
            raise NotLeading

    def _keep(self, obj: Object) -> Object:
        self._view.mirror(gvk_of(obj)).keep(obj)
        return obj
