"""Events: what was done with an object, for `kubectl describe` and for clients that wait for a reason.

They are written beside the work, one at a time with a rest after each, and are never waited for: an API server that
is slow gets fewer of them. What cannot be written is dropped: an Event is news, no state. What is told of one version
of an object for one reason again and again within a minute is one Event that counts, with the note of the first time,
as Kubernetes' own recorder of events.k8s.io does it. Of an object that has changed meanwhile there is something new to
tell.
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
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore, key_of, uid_of, version_of

log = logging.getLogger(__name__)

EVENT: Final = GroupVersionKind("", "v1", "Event")
SOURCE: Final = "sluice"
NOTE_LIMIT: Final = 1024
"""Letters of a message that the API server takes."""
MOST: Final = 1000
"""Events that may wait to be written."""
REST: Final = 4
"""Times as long as writing an Event took, until the next one is written."""
REMEMBERED: Final = 4096
AGAIN: Final = timedelta(minutes=1)
"""For how long an Event counts what is told again; after that there is a new one."""


@dataclass(slots=True)
class _Series:
    """An Event, since when it counts, for which version of the object, and the note told last.

    `written` says whether it is there, `waits` whether it is to be written.
    """

    event: Object
    since: datetime
    version: str
    note: str
    written: bool = False
    waits: bool = False


class EventRecorder:
    """`tell` never fails and never waits; nothing is written before `start`, nor after `stop`."""

    def __init__(self, store: ObjectStore, now: Callable[[], datetime]) -> None:
        self._store, self._now = store, now
        self._waiting: asyncio.Queue[_Series] = asyncio.Queue(MOST)
        self._told: OrderedDict[tuple[str, str, bool], _Series] = OrderedDict()
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
        """Say what was done with an object. `reason` is one word, `note` a sentence; the same one twice is one."""
        now, key = self._now().astimezone(UTC), (uid_of(obj), reason, warning)
        series = self._told.get(key)
        if series is None or now >= series.since + AGAIN or (note != series.note and series.version != version_of(obj)):
            event = self._event(obj, reason, note[:NOTE_LIMIT], "Warning" if warning else "Normal")
            series = self._told[key] = _Series(event, now, version_of(obj), note)
            self._told.move_to_end(key)
            if len(self._told) > REMEMBERED:
                self._told.popitem(last=False)
        elif note == series.note:
            return
        else:
            series.note = note
            series.event |= {"count": series.event["count"] + 1, "lastTimestamp": _stamp(now)}
        self._write_soon(series)

    def _write_soon(self, series: _Series) -> None:
        if series.waits:
            return
        try:
            self._waiting.put_nowait(series)
            series.waits = True
        except asyncio.QueueFull:
            log.debug("an Event is dropped: %s %s", series.event["reason"], series.note)

    def _event(self, obj: Object, reason: str, note: str, type_: str) -> Object:
        namespace, name = key_of(obj)
        now = self._now().astimezone(UTC)
        stamp = _stamp(now)
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
        """Write an Event, or only what has become of its count."""
        event = series.event
        if not series.written:
            await self._store.create(dict(event))
            series.written = True
            return
        counted = {name: event[name] for name in ("count", "lastTimestamp")}
        metadata = event["metadata"]
        await self._store.patch(EVENT, metadata["name"], metadata["namespace"], counted)


def _stamp(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
