"""All writes of the controller: only while this replica leads, and visible in the view at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.times import time_text
from webhook.store.errors import Conflict, NotFound
from webhook.store.objects import Object, key_of, version_of


class NotLeading(Exception):
    """This replica does not lead, so it must not write."""


class LeaderWriter:
    """Writes objects with the resourceVersion at which they were read as a precondition."""

    def __init__(self, view: View, leads: Callable[[], bool], now: Callable[[], datetime]) -> None:
        self._view, self._leads, self._now = view, leads, now

    def stamp(self) -> str:
        """Return the current time in the format of Kubernetes."""
        return time_text(self._now())

    async def status(self, obj: Object, status: dict[str, Any]) -> Object:
        """Write the status of an object. Raises Conflict if the object has changed since it was read."""
        gvk, (namespace, name) = gvk_of(obj), key_of(obj)
        patch = {"metadata": {"resourceVersion": version_of(obj)}, "status": status}
        self._may_write()
        return self._keep(await self._view.store.patch(gvk, name, namespace, patch, subresource="status"))

    async def metadata(self, obj: Object, fields: dict[str, Any]) -> Object:
        """Merge `fields` into the metadata of an object. Raises Conflict if it has changed since it was read."""
        gvk, (namespace, name) = gvk_of(obj), key_of(obj)
        patch = {"metadata": {"resourceVersion": version_of(obj), **fields}}
        self._may_write()
        return self._keep(await self._view.store.patch(gvk, name, namespace, patch))

    async def own(self, obj: Object, fields: dict[str, Any]) -> None:
        """Merge `fields` into the metadata of an object of a kind that is not followed, in its current version."""
        namespace, name = key_of(obj)
        self._may_write()
        await self._view.store.patch(gvk_of(obj), name, namespace, {"metadata": fields})

    async def replace(self, obj: Object) -> Object:
        """Replace an object. Raises Conflict if the object has changed since it was read."""
        self._may_write()
        return self._keep(await self._view.store.update(obj))

    async def create(self, obj: Object) -> Object:
        """Create an object."""
        self._may_write()
        return self._keep(await self._view.store.create(obj))

    async def delete(self, obj: Object, grace: int | None = None) -> None:
        """Delete an object, if it has the same uid. A Pod with `grace` 0 is removed without its kubelet."""
        namespace, name = key_of(obj)
        self._may_write()
        await self._view.store.delete(gvk_of(obj), name, namespace, uid=obj["metadata"]["uid"], grace=grace)

    async def refresh(self, gvk: GroupVersionKind, namespace: str, name: str) -> Object | None:
        """Read an object from the store and put it into the view; None if it does not exist.

        In the version that is served: a reference may name one that is not any more.
        """
        gvk = self._view.informer(gvk).gvk
        try:
            obj = await self._view.store.get(gvk, name, namespace)
        except NotFound:
            old = self._view.informer(gvk).get(name, namespace)
            if old is not None:
                self._view.informer(gvk).drop(old)
            return None
        return self._keep(obj)

    async def refresh_workload(self, workload: Object) -> Object | None:
        """Read a Workload from the store; None if it does not exist."""
        return await self.refresh(WORKLOAD, *key_of(workload))

    async def confirm(self, workload: Object) -> None:
        """Read a Workload from the store. Raises Conflict if it has changed since it was read.

        The watches of a job and of its Workload are two: one may have told what came of a change that the other has
        not. What is read after the job was is no older than it.
        """
        fresh = await self.refresh_workload(workload)
        if fresh is None or version_of(fresh) != version_of(workload):
            raise Conflict(f"Workload {'/'.join(key_of(workload))} has changed")

    def _may_write(self) -> None:
        if not self._leads():
            raise NotLeading

    def _keep(self, obj: Object) -> Object:
        self._view.informer(gvk_of(obj)).answered(obj)
        return obj
