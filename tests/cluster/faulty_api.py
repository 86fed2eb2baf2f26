"""An API server in memory that keeps time by a virtual loop, a faulty way to it for each replica, and a judge.

A write may land late, or not at all; its answer may come late, or never. A watch may lag, end, or lose events, kind by
kind. Whatever a replica does, even its end, does not stop a request that is on its way.
"""

import asyncio
from collections import defaultdict, deque
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

from webhook.cluster.api.kinds import CLUSTER_QUEUE, WORKLOAD
from webhook.kube.condition_types import FINISHED
from webhook.kube.conditions import holds
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.store.errors import StoreError, Unavailable
from webhook.store.memory import MemoryStore
from webhook.store.objects import key_of, uid_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TIMEOUT = 4.0
"""Seconds after which a replica waits for an answer no longer, as `Client` has it."""
REMEMBERED = 120.0
"""Seconds for which a quota counts after it was made smaller: no request is on its way for longer."""


class Fate(NamedTuple):
    """What becomes of a write: the seconds until it lands and then until its answer; it may be lost on its way."""

    lands: float = 0.0
    answered: float = 0.0
    lost: bool = False


FINE = Fate()


class TimedStore(MemoryStore):
    """The store in memory, in virtual time; `judge` sees each change of a Workload or a ClusterQueue."""

    def __init__(self) -> None:
        numbers = count()
        self._loop = asyncio.get_running_loop()
        super().__init__(now=self.time, new_uid=lambda: f"{next(numbers):032x}")
        self.judge = Judge(self._loop.time)

    def time(self) -> datetime:
        """The time of the loop."""
        return BEGIN + timedelta(seconds=self._loop.time())

    def _publish(self, kind: Any, event: Any) -> None:
        gone = event.type.value == "DELETED"
        if kind == (WORKLOAD.group, WORKLOAD.kind):
            self.judge.workload(event.object, gone=gone)
        elif kind == (CLUSTER_QUEUE.group, CLUSTER_QUEUE.kind) and not gone:
            self.judge.queue(event.object)
        super()._publish(kind, event)


class Judge:
    """Counts what is used at every change: quota is not passed, and no admission takes the place of another."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._admissions: dict[str, tuple[str, dict[tuple[str, str], float]]] = {}
        self._quotas: dict[tuple[str, str, str], list[tuple[float, float, float]]] = defaultdict(list)
        self.admissions = 0
        self.faults: list[str] = []

    def queue(self, obj: dict[str, Any]) -> None:
        """Note a queue's quotas: when they began to count, the nominal one, and what may be borrowed."""
        for group in obj["spec"].get("resourceGroups") or ():
            for flavor in group["flavors"]:
                for row in flavor["resources"]:
                    at = obj["metadata"]["name"], flavor["name"], row["name"]
                    borrows = float(row.get("borrowingLimit", "inf"))
                    self._quotas[at].append((self._clock(), float(row["nominalQuota"]), borrows))

    def workload(self, obj: dict[str, Any], *, gone: bool) -> None:
        """Look at a Workload after a change."""
        uid, name = uid_of(obj), key_of(obj)[1]
        admission = None if gone or holds(obj, FINISHED) else (obj.get("status") or {}).get("admission")
        held = self._admissions.pop(uid, None)
        if admission is None:
            return
        queue, amounts = admission["clusterQueue"], defaultdict[tuple[str, str], float](float)
        for pods in admission["podSetAssignments"]:
            for resource, amount in pods["resourceUsage"].items():
                amounts[pods["flavors"][resource], resource] += float(amount)
        now = queue, dict(amounts)
        if held is not None and held != now:
            self.faults.append(f"{name} was admitted twice: {held}, {now}")
        self._admissions[uid] = now
        if held is None:
            self.admissions += 1
            for flavor, resource in amounts:
                self._look(name, queue, flavor, resource)

    def _look(self, name: str, queue: str, flavor: str, resource: str) -> None:
        used: dict[str, float] = defaultdict(float)
        for of, amounts in self._admissions.values():
            used[of] += amounts.get((flavor, resource), 0.0)
        since = self._clock() - REMEMBERED
        nominal, most = 0.0, 0.0
        for (of, *cell), rows in self._quotas.items():
            if cell == [flavor, resource]:
                first = max((n for n, row in enumerate(rows) if row[0] <= since), default=0)
                nominal += max(row[1] for row in rows[first:])
                if of == queue:
                    most = max(row[1] + row[2] for row in rows[first:])
        if sum(used.values()) > nominal or used[queue] > most:
            self.faults.append(
                f"{name} passes the quota of {flavor}: {dict(used)} of {nominal}, {most} in {queue}, at {self._clock()}"
            )


class FaultyApi:
    """One replica's way to the store."""

    def __init__(self, store: TimedStore, fates: deque[Fate]) -> None:
        self._store, self._fates = store, fates
        self._loop = asyncio.get_running_loop()
        self._held: dict[str, float] = {}
        self._breaks: dict[str, StoreError] = {}
        self._cut = 0.0
        self.on_the_way: set[asyncio.Task[Any]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def hold(self, kind: str, seconds: float) -> None:
        """Let the watch of a kind tell nothing for some time."""
        self._held[kind] = self._loop.time() + seconds

    def end_watch(self, kind: str, error: StoreError) -> None:
        """End the watch of a kind with the next event, which it does not tell."""
        self._breaks[kind] = error

    def cut(self, seconds: float) -> None:
        """Let no request through for some time."""
        self._cut = self._loop.time() + seconds

    def heal(self) -> None:
        """End all faults."""
        self._held.clear()
        self._breaks.clear()
        self._cut = 0.0

    def _goes_out(self) -> None:
        if self._loop.time() < self._cut:
            raise Unavailable("no route")

    async def get(self, gvk: GroupVersionKind, name: str, namespace: str | None = None) -> Any:
        self._goes_out()
        return await self._store.get(gvk, name, namespace)

    async def list(self, gvk: GroupVersionKind, *arguments: Any, **options: Any) -> Any:
        self._goes_out()
        return await self._store.list(gvk, *arguments, **options)

    async def watch(self, gvk: GroupVersionKind, *arguments: Any, **options: Any) -> Any:
        self._goes_out()
        async with aclosing(self._store.watch(gvk, *arguments, **options)) as events:
            async for event in events:
                await asyncio.sleep(max(0.0, self._held.get(gvk.kind, 0.0) - self._loop.time()))
                if (error := self._breaks.pop(gvk.kind, None)) is not None:
                    raise error
                self._goes_out()
                yield event

    async def create(self, obj: Any, **options: Any) -> Any:
        return await self._write(gvk_of(obj), self._store.create, obj, **options)

    async def update(self, obj: Any, **options: Any) -> Any:
        return await self._write(gvk_of(obj), self._store.update, obj, **options)

    async def patch(self, gvk: GroupVersionKind, *arguments: Any, **options: Any) -> Any:
        return await self._write(gvk, self._store.patch, gvk, *arguments, **options)

    async def delete(self, gvk: GroupVersionKind, *arguments: Any, **options: Any) -> Any:
        return await self._write(gvk, self._store.delete, gvk, *arguments, **options)

    async def _write(self, gvk: GroupVersionKind, write: Any, *arguments: Any, **options: Any) -> Any:
        self._goes_out()
        fate = self._fates.popleft() if self._fates and gvk.kind != "Event" else FINE
        carried = asyncio.ensure_future(self._carry(fate, write, *arguments, **options))
        self.on_the_way.add(carried)
        carried.add_done_callback(self._arrived)
        try:
            async with asyncio.timeout(TIMEOUT):
                return await asyncio.shield(carried)
        except TimeoutError:
            raise Unavailable("no answer in time") from None

    def _arrived(self, carried: asyncio.Task[Any]) -> None:
        self.on_the_way.discard(carried)
        if not carried.cancelled():
            carried.exception()  # the replica may be gone by now, and nobody else asks for it

    async def _carry(self, fate: Fate, write: Any, *arguments: Any, **options: Any) -> Any:
        await asyncio.sleep(fate.lands)
        if fate.lost:
            raise Unavailable("the connection was lost")
        try:
            return await write(*arguments, **options)
        finally:
            await asyncio.sleep(fate.answered)
