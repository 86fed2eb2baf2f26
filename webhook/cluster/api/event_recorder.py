"""Records Kubernetes Events, for `kubectl describe` and for clients that wait for a reason.

Events are written in the background, one at a time with a pause after each, and nobody waits for them: a slow API
server gets fewer. An Event that cannot be written is dropped. As in Kubernetes' events.k8s.io recorder, Events about
the same version of an object with the same reason within a minute become one Event with a count and the first note.
After the object has changed, a new note starts a new Event.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from webhook.kube.gvk import GroupVersionKind
from webhook.kube.times import time_text
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore, key_of, uid_of, version_of

log = logging.getLogger(__name__)

EVENT: Final = GroupVersionKind("", "v1", "Event")
SOURCE: Final = "sluice"
NOTE_LIMIT: Final = 1024
"""The longest message that the API server accepts, in characters."""
MAX_WAITING_EVENTS: Final = 1000
"""Size of the queue of Events to be written."""
REST: Final = 4
"""The pause after a write of an Event, as a multiple of the time that the write took."""
REMEMBERED_EVENTS: Final = 4096
NEW_SERIES_AFTER: Final = timedelta(minutes=1)
"""How long repeated Events are counted in the first one; after that a new Event is written."""


@dataclass(slots=True)
class _Series:
    """An Event, the time it was created, the version of its object, and the latest note.

    `written` says whether it exists in the API server, `waits` whether it is queued to be written.
    """

    event: Object
    since: datetime
    version: str
    note: str
    written: bool = False
    waits: bool = False


class EventRecorder:
    """Queues and writes Events. `tell` never fails and never blocks; Events are written from `start` until `stop`."""

    def __init__(self, store: ObjectStore, now: Callable[[], datetime]) -> None:
        self._store, self._now = store, now
        self._waiting: asyncio.Queue[_Series] = asyncio.Queue(MAX_WAITING_EVENTS)
        self._recorded: OrderedDict[tuple[str, str, bool], _Series] = OrderedDict()
        self._numbers = count()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start writing in the background."""
        self._task = asyncio.create_task(self._run(), name="events")

    async def stop(self) -> None:
        """Stop writing; queued Events are dropped."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def tell(self, obj: Object, reason: str, note: str, *, warning: bool = False) -> None:
        """Queue an Event about an object: `reason` is one word, `note` a sentence. A repeated note is ignored."""
        now, key = self._now().astimezone(UTC), (uid_of(obj), reason, warning)
        series = self._recorded.get(key)
        if series is not None and (
            now >= series.since + NEW_SERIES_AFTER or (note != series.note and series.version != version_of(obj))
        ):
            series = None
        if series is not None and note == series.note:
            return
        if self._waiting.full() and (series is None or not series.waits):
            log.debug("an Event is dropped: %s %s", reason, note)
            return
        if series is None:
            event = self._event(obj, reason, note[:NOTE_LIMIT], "Warning" if warning else "Normal")
            series = self._recorded[key] = _Series(event, now, version_of(obj), note)
            self._recorded.move_to_end(key)
            if len(self._recorded) > REMEMBERED_EVENTS:
                self._recorded.popitem(last=False)
        else:
            series.note = note
            series.event |= {"count": series.event["count"] + 1, "lastTimestamp": time_text(now)}
        if not series.waits:
            self._waiting.put_nowait(series)
            series.waits = True

    def _event(self, obj: Object, reason: str, note: str, type_: str) -> Object:
        namespace, name = key_of(obj)
        now = self._now().astimezone(UTC)
        stamp = time_text(now)
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
        clock = asyncio.get_running_loop().time
        while True:
            series = await self._waiting.get()
            series.waits, began = False, clock()
            try:
                await self._write(series)
            except StoreError as error:
                log.debug("an Event is not written: %s", error)
            await asyncio.sleep(REST * (clock() - began))

    async def _write(self, series: _Series) -> None:
        """Create an Event; if it exists, update its count."""
        event = series.event
        if not series.written:
            await self._store.create(dict(event))
            series.written = True
            return
        counted = {name: event[name] for name in ("count", "lastTimestamp")}
        metadata = event["metadata"]
        await self._store.patch(EVENT, metadata["name"], metadata["namespace"], counted)
