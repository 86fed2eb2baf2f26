"""The local view of a cluster: an informer of each followed kind. Every replica has one; it is never written to.

A kind that the cluster does not serve (a CRD that is not installed) counts as empty, and is checked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from webhook.cluster.api.indexes import INDEXES, TRIMS
from webhook.cluster.api.kinds import LABELS, VERSIONS, WORKLOAD
from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import StoreError
from webhook.store.informer import Informer, Listener
from webhook.store.objects import ALL, Object, ObjectStore

LOOK_AGAIN: Final = 10.0
"""Seconds until a kind that is not served is checked again."""


class View:
    """Informers by kind. `start` follows the store until `stop`; all reads are from memory."""

    def __init__(self, store: ObjectStore, kinds: Iterable[GroupVersionKind], listener: Listener | None = None) -> None:
        self.store = store
        self._listener = listener
        self._informers: dict[tuple[str, str], Informer] = {}
        self._looked: dict[tuple[str, str], asyncio.Event] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._running = False
        for gvk in kinds:
            self.add(gvk)

    def add(self, gvk: GroupVersionKind) -> None:
        """Follow one more kind (of policy parameters); no effect if it is already followed."""
        key = (gvk.group, gvk.kind)
        if key in self._informers:
            return
        self._informers[key] = Informer(gvk, self._listener, LABELS.get(key, ALL), INDEXES.get(key), TRIMS.get(key))
        self._looked[key] = asyncio.Event()
        if self._running:
            self._tasks[key] = asyncio.create_task(self._follow(key), name=f"follow {gvk}")

    def start(self) -> None:
        """Start to follow every kind."""
        self._running = True
        for key, informer in self._informers.items():
            if key not in self._tasks:
                self._tasks[key] = asyncio.create_task(self._follow(key), name=f"follow {informer.gvk}")

    async def stop(self) -> None:
        """Stop all watches."""
        self._running = False
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait(self) -> None:
        """Wait until every kind has been listed once, or is known not to be served."""
        await asyncio.gather(*(event.wait() for event in list(self._looked.values())))

    def problems(self, kinds: Iterable[GroupVersionKind]) -> dict[str, str]:
        """Return the problem of each kind not listed yet, by name; "" if there was no error."""
        lacking = (gvk for gvk in kinds if not self._looked[gvk.group, gvk.kind].is_set())
        return {str(gvk): self._informers[gvk.group, gvk.kind].problem for gvk in lacking}

    def informer(self, gvk: GroupVersionKind) -> Informer:
        """Return the informer of a kind, in any version; an empty one if the kind is not followed."""
        informer = self._informers.get((gvk.group, gvk.kind))
        return Informer(gvk) if informer is None else informer  # not `or`: an empty informer is false

    def workload(self, key: str) -> Object | None:
        """Return the Workload `namespace/name`."""
        namespace, _, name = key.partition("/")
        return self.informer(WORKLOAD).get(name, namespace)

    def follows(self, gvk: GroupVersionKind) -> bool:
        """Return whether a kind is followed."""
        return (gvk.group, gvk.kind) in self._informers

    def all(self, *kinds: GroupVersionKind) -> list[Object]:
        """Return all objects of these kinds."""
        return [obj for gvk in kinds for obj in self.informer(gvk).all()]

    def by_uid(self, uid: str, kinds: Iterable[GroupVersionKind]) -> Object | None:
        """Return the object with this uid among these kinds, or None."""
        return next((obj for gvk in kinds if (obj := self.informer(gvk).by_uid(uid)) is not None), None)

    async def _follow(self, key: tuple[str, str]) -> None:
        informer = self._informers[key]
        listed: asyncio.Task[None] | None = None
        try:
            while True:
                while (served := await self._served(informer.gvk)) is None:
                    self._looked[key].set()
                    await asyncio.sleep(LOOK_AGAIN)
                informer.gvk = served
                listed = listed or asyncio.create_task(self._mark(key))
                await informer.follow(self.store)
        finally:
            if listed is not None:
                listed.cancel()

    async def _mark(self, key: tuple[str, str]) -> None:
        await self._informers[key].synced.wait()
        self._looked[key].set()

    async def _served(self, gvk: GroupVersionKind) -> GroupVersionKind | None:
        """Return the kind in the first version that the cluster serves; None if it serves none."""
        versions = (gvk.version, *(v for v in VERSIONS.get((gvk.group, gvk.kind), ()) if v != gvk.version))
        while True:
            try:
                for version in versions:
                    candidate = GroupVersionKind(gvk.group, version, gvk.kind)
                    if await self.store.scope(candidate) is not None:
                        return candidate
            except StoreError:
                await asyncio.sleep(1.0)
            else:
                return None
