"""Events: what was done with an object, for `kubectl describe` and for clients that wait for a reason.

They are written beside the work, one at a time, and are never waited for. What cannot be written is dropped: an Event
is news, no state.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore, key_of, uid_of, version_of

log = logging.getLogger(__name__)

EVENT: Final = GroupVersionKind("", "v1", "Event")
SOURCE: Final = "sluice"
NOTE_LIMIT: Final = 1024
"""Letters of a message that the API server takes."""
MOST: Final = 1000
"""Events that may wait to be written."""
REMEMBERED: Final = 4096
AGAIN: Final = timedelta(minutes=1)
"""The same Event of one object is not written again earlier."""


class EventRecorder:
    """`tell` never fails and never waits; nothing is written before `start`, nor after `stop`."""

    def __init__(self, store: ObjectStore, now: Callable[[], datetime]) -> None:
        self._store, self._now = store, now
        self._waiting: asyncio.Queue[Object] = asyncio.Queue(MOST)
        self._told: OrderedDict[tuple[str, str, str], datetime] = OrderedDict()
        self._numbers = count()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write, in the background."""
        self._task = asyncio.create_task(self._run(), name="events")

    async def stop(self) -> None:
        """Write no more; what waits is dropped."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def tell(self, obj: Object, reason: str, note: str, *, warning: bool = False) -> None:
        """Say what was done with an object. `reason` is one word, `note` a sentence."""
        now, key = self._now().astimezone(UTC), (uid_of(obj), reason, note)
        if (last := self._told.get(key)) is not None and now < last + AGAIN:
            return
        self._told[key] = now
        self._told.move_to_end(key)
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        try:
            self._waiting.put_nowait(self._event(obj, reason, note[:NOTE_LIMIT], "Warning" if warning else "Normal"))
        except asyncio.QueueFull:
            log.debug("an Event is dropped: %s %s", reason, note)

    def _event(self, obj: Object, reason: str, note: str, type_: str) -> Object:
        namespace, name = key_of(obj)
        now = self._now().astimezone(UTC)
        stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        regarding = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": name, "uid": uid_of(obj)}
        if namespace:
            regarding["namespace"] = namespace
        return {
            "apiVersion": "v1",
            "kind": EVENT.kind,
            "metadata": {
                "name": f"{name[:200]}.{int(now.timestamp() * 1e6):x}{next(self._numbers) % 4096:03x}",
                "namespace": namespace or "default",
            },
            "involvedObject": {**regarding, "resourceVersion": version_of(obj)},
            "reason": reason,
            "message": note,
            "type": type_,
            "count": 1,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "source": {"component": SOURCE},
            "reportingComponent": SOURCE,
        }

    async def _run(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._store.create(event)
            except StoreError as error:
                log.debug("an Event is not written: %s", error)
