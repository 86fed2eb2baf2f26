"""A local copy of all objects of one kind (or of those with some labels), kept up to date by list and watch.

Readers get plain dicts from memory. Writers pass the answer of a write to `answered`, so that it is seen before the
watch sends it; an older event never undoes a newer write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Final, cast

from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import Expired, NotFound, StoreError, Unavailable
from webhook.store.objects import (
    ALL,
    Event,
    EventType,
    Labels,
    Object,
    ObjectStore,
    has_labels,
    key_of,
    uid_of,
    version_of,
)

log = logging.getLogger(__name__)

FIRST_WAIT: Final = 0.2
LONGEST_WAIT: Final = 15.0
"""Seconds between two attempts to list or watch, doubling from the first to the longest."""
_NONE: Final[Mapping[str, Object]] = MappingProxyType({})

Listener = Callable[[GroupVersionKind, Object | None, Object | None], None]
"""Called with the object before and after a change; None for one that was not there or is gone."""
Index = Callable[[Object], Iterable[Hashable]]
"""Returns the values by which an object is indexed in its namespace: its owners, its group."""

Trim = Callable[[Object], Object]
"""Returns the part of an object to keep: a new object, or the same."""


class Informer:
    """All objects of one kind. `follow` keeps it up to date until it is cancelled."""

    def __init__(
        self,
        gvk: GroupVersionKind,
        listener: Listener | None = None,
        labels: Labels = ALL,
        index: Index | None = None,
        trim: Trim | None = None,
    ) -> None:
        """Start empty. Only objects with `labels` are kept; `trim` returns the part of an object to keep."""
        self.gvk = gvk
        self._labels, self._trim = labels, trim
        self.synced = asyncio.Event()
        self.problem = ""
        """Why the last attempt to list or watch failed; empty after a success."""
        self._objects: dict[str, dict[str, Object]] = {}
        self._by_uid: dict[str, Object] = {}
        self._index = index
        self._indexed: dict[tuple[str, Hashable], dict[str, Object]] = {}
        self._gone: dict[str, str] = {}
        self._watched_to = ""
        self._waited_for: dict[str, asyncio.Event] = {}
        self._listener = listener
        self._wait = FIRST_WAIT

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def get(self, name: str, namespace: str = "") -> Object | None:
        """Return one object, or None."""
        return self._objects.get(namespace, _NONE).get(name)

    def by_uid(self, uid: str) -> Object | None:
        """Return the object of this uid, or None."""
        return self._by_uid.get(uid)

    def all(self, namespace: str | None = None) -> list[Object]:
        """Return all objects, or those of one namespace."""
        if namespace is None:
            return [obj for in_namespace in self._objects.values() for obj in in_namespace.values()]
        return list(self._objects.get(namespace, _NONE).values())

    def of(self, namespace: str, value: Hashable) -> list[Object]:
        """Return the objects of a namespace that the index finds under a value."""
        return list(self._indexed.get((namespace, value), {}).values())

    def by_name(self) -> dict[str, Object]:
        """Return all objects of a cluster-scoped kind, by name."""
        return dict(self._objects.get("", _NONE))

    def keep(self, obj: Object) -> None:
        """Keep an object as the store has it now."""
        if not has_labels(obj, self._labels):
            self.drop(obj)
            return
        key, uid = key_of(obj), uid_of(obj)
        old = self.get(key[1], key[0])
        version = version_of(obj)
        if uid in self._gone and _not_newer(version, self._gone[uid]):
            return
        if old is not None and uid_of(old) == uid and _not_newer(version, version_of(old)):
            is_converted = version == version_of(old) and obj.get("apiVersion") != old.get("apiVersion")
            if not is_converted:
                return
        if old is not None and uid_of(old) != uid:
            self._by_uid.pop(uid_of(old), None)
        if self._trim is not None:
            obj = self._trim(obj)
        self._objects.setdefault(key[0], {})[key[1]] = self._by_uid[uid] = obj
        self._find_again(key, old, obj)
        self._notify(old, obj)

    def answered(self, obj: Object) -> None:
        """Keep the answer to a write or a read, unless the watch has told since that the object was deleted.

        It may come late, when others were deleted by the thousand meanwhile; nothing would take it away again.
        """
        namespace, name = key_of(obj)
        there = self.get(name, namespace)
        is_known = there is not None and uid_of(there) == uid_of(obj)
        if is_known or not _not_newer(version_of(obj), self._watched_to):
            self.keep(obj)

    def drop(self, obj: Object, version: str = "") -> None:
        """Drop an object that was deleted at `version`, unless a newer one of its name exists."""
        key, uid = key_of(obj), uid_of(obj)
        self._gone[uid] = version or version_of(obj)
        if len(self._gone) > 1000:
            self._gone.pop(next(iter(self._gone)))
        old = self.get(key[1], key[0])
        self._by_uid.pop(uid, None)
        if old is not None and uid_of(old) == uid:
            self._forget(*key)
            self._find_again(key, old, None)
            self._notify(old, None)

    def _forget(self, namespace: str, name: str) -> None:
        in_namespace = self._objects[namespace]
        del in_namespace[name]
        if not in_namespace:
            del self._objects[namespace]

    async def follow(self, store: ObjectStore) -> None:
        """List, then watch. Resume from the last version on a lost connection, list again on Expired.

        Returns where the kind is not found, after a pause: it may be served in another version by now.
        """
        version = ""
        while True:
            try:
                if not version:
                    version = await self._relist(store)
                async with aclosing(_generator(store.watch(self.gvk, version, None, self._labels))) as events:
                    async for event in events:
                        version = version_of(event.object) or version
                        self._wait, self.problem = FIRST_WAIT, ""
                        self._take(event)
                        self._reached(version)
                await asyncio.sleep(FIRST_WAIT)  # the watch ended by itself: renew it, but never in a tight loop
            except Expired:
                version = ""
                await self._rest()  # an API server that forgets at once has a lot to do
            except StoreError as error:
                after = error.after if isinstance(error, Unavailable) else 0.0
                self.problem = str(error)
                log.warning("%s: %s; retrying in %.1f s", self.gvk, error, max(self._wait, after))
                await self._rest(after)
                if isinstance(error, NotFound):
                    return

    async def _rest(self, least: float = 0.0) -> None:
        """Pause before another attempt, twice as long each time until something has come."""
        pause, self._wait = max(self._wait, least), min(self._wait * 2, LONGEST_WAIT)
        await asyncio.sleep(pause)

    async def refresh(self, store: ObjectStore) -> None:
        """List all objects again, so that nothing written before this call is missing."""
        await self._list(store)

    async def reach(self, version: str) -> None:
        """Wait until the watch has sent everything up to `version`; without end if that is not a number.

        A watch sends the changes of a kind in the order in which they were made.
        """
        while not _not_newer(version, self._watched_to):
            await self._waited_for.setdefault(version, asyncio.Event()).wait()

    async def _relist(self, store: ObjectStore) -> str:
        version = await self._list(store)
        self.problem = ""
        self._reached(version)
        self.synced.set()
        return version

    async def _list(self, store: ObjectStore) -> str:
        """Replace all objects by a listing, and return its version."""
        before = self.all()
        listing = await store.list(self.gvk, None, self._labels)
        self._replace(listing.items, listing.version, before)
        return listing.version

    def _replace(self, items: Iterable[Object], version: str, before: Iterable[Object] = ()) -> None:
        """Replace all objects, of which some were there before the list began, but keep what was written later."""
        fresh = {key_of(obj): obj for obj in items}
        standing = set() if version.isdigit() else set(map(id, before))  # versions that cannot be compared
        for old in self.all():
            key = key_of(old)
            absent = key not in fresh or uid_of(fresh[key]) != uid_of(old)
            if absent and (id(old) in standing or _not_newer(version_of(old), version)):
                self.drop(old, version)
        is_told = _not_newer(version, self._watched_to)
        for key, obj in fresh.items():
            if not is_told or self.get(key[1], key[0]) is not None:  # else the watch has told that it was deleted since
                self.keep(obj)

    def _reached(self, version: str) -> None:
        self._watched_to = version
        for wanted in [wanted for wanted in self._waited_for if _not_newer(wanted, version)]:
            self._waited_for.pop(wanted).set()

    def _take(self, event: Event) -> None:
        if event.type is EventType.DELETED:
            self.drop(event.object)
        elif event.type is not EventType.BOOKMARK:
            self.keep(event.object)

    def _find_again(self, key: tuple[str, str], old: Object | None, new: Object | None) -> None:
        """Update the index for the object at this key."""
        namespace, name = key
        if self._index is None:
            return
        before = frozenset(self._index(old) if old is not None else ())
        after = frozenset(self._index(new) if new is not None else ())
        for value in before - after:
            by_name = self._indexed[namespace, value]
            del by_name[name]
            if not by_name:
                del self._indexed[namespace, value]
        if new is not None:
            for value in after:
                self._indexed.setdefault((namespace, value), {})[name] = new

    def _notify(self, old: Object | None, new: Object | None) -> None:
        if self._listener is not None:
            self._listener(self.gvk, old, new)


def _generator(events: AsyncIterator[Event]) -> Any:
    """Return a watch as a generator, which can be closed; the protocol only says iterator."""
    return cast("Any", events)


def _not_newer(version: str, than: str) -> bool:
    """Compare two versions as numbers, which the API allows since 1.35 (KEP-5504); else newer."""
    return version.isdigit() and than.isdigit() and int(version) <= int(than)
