"""The year itself: jobs arrive, the real controller decides over the store in memory, jobs run, end and are deleted."""

from __future__ import annotations

import asyncio
import gc
import heapq
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

from prometheus_client import CollectorRegistry

from tests.bench.year.judge import JOB, Judge
from tests.bench.year.load import DAY, Load, job
from tests.bench.year.virtual_time import VirtualLoop
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import BUILT_IN, QUEUE_KINDS, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.controller import Clocks, Controller
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.queues.names import QueueNames
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.queue.decisions import Decisions
from webhook.queue.rules import Rules
from webhook.simulate.trace import Arrival
from webhook.store.errors import NotFound
from webhook.store.informer import Informer
from webhook.store.memory import MemoryStore
from webhook.store.objects import Object, copy_json

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
TTL: Final = 3600.0
"""Seconds after its end until a Job is deleted, and after which an API server forgets Events."""
SAMPLES: Final = 12
"""Months."""
PATIENCE: Final = 2.0 * 86_400
"""Seconds without an arrival, a start or an end after which what still waits is lost."""
ARRIVE, END, DELETE = range(3)


class YearStore(MemoryStore):
    """The store in memory, with the one thing of an API server that matters in a year: it forgets Events."""

    def __init__(self, loop: VirtualLoop) -> None:
        numbers = count()
        super().__init__(now=lambda: moment(loop), new_uid=lambda: f"{next(numbers):032x}")
        self._loop, self._events = loop, list[tuple[float, str, str]]()
        self.writes = 0

    def _tell(self, kind: Any, event: Any) -> None:
        self.writes += 1
        super()._tell(kind, event)

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Store an object; with an Event those go that are older than an hour."""
        made = await super().create(obj, dry_run=dry_run)
        if obj["kind"] == "Event":
            now = self._loop.time()
            heapq.heappush(self._events, (now, made["metadata"]["namespace"], made["metadata"]["name"]))
            while self._events[0][0] < now - TTL:
                _, namespace, name = heapq.heappop(self._events)
                self._objects["", "Event"].pop((namespace, name), None)
        return made


class TimedCore(QueueCore):
    """The core, with the processor seconds of the rounds in which it decided something."""

    seconds, rounds = 0.0, 0

    def decide(self, now: int, *, goes_on: bool = False) -> Decisions:
        """Decide, and take the time."""
        began = time.thread_time()
        made = super().decide(now, goes_on=goes_on)
        if made.admitted or made.preempted or made.evicted:
            self.seconds += time.thread_time() - began
            self.rounds += 1
        return made


@dataclass(frozen=True, slots=True)
class Month:
    """How things stood at the end of a twelfth of the time; what counts up is that of the twelfth alone."""

    ended: int
    pending: int
    evicted: int
    mib: float
    objects: int
    round_ms: float
    job_ms: float


@dataclass
class Year:
    """One run. `months` and `judge` are what is looked at afterwards."""

    load: Load
    rules: Rules
    loop: VirtualLoop
    months: list[Month] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Let the time pass until every job has ended and is gone."""
        self.store = YearStore(self.loop)
        self.loop.version = lambda: self.store.writes
        objects = [copy_json(obj) for obj in self.load.objects]
        for obj in objects:
            await self.store.create(obj)
        self.judge, self.core = Judge(self.store, objects), TimedCore(self.rules)
        self._runs: dict[str, float] = {}
        self._arrivals: dict[str, Arrival] = {}
        self._due: list[tuple[float, int, int, str]] = []
        self._numbers = count()
        self._jobs = self.load.jobs()
        self._next_arrival()
        controller, view = self._controller()
        informer = Informer(JOB, self._heard)
        self._changed: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        tasks = [asyncio.create_task(work) for work in (
            informer.follow(self.store), self._kubelet(), self.judge.follow(JOB), self.judge.follow(WORKLOAD))
        ]  # fmt: skip
        view.start()
        controller.start()
        try:
            await self._pass()
        finally:
            await controller.stop()
            await view.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _controller(self) -> tuple[Controller, View]:
        box: list[Controller] = []
        view = View(self.store, (*BUILT_IN, JOB, *QUEUE_KINDS), lambda *change: box[0].heard(*change))
        clocks = Clocks(lambda: moment(self.loop), self.loop.time)
        report = QueueMetrics(CollectorRegistry(), names=QueueNames(view, QueueSettings()))
        controller = Controller(view, self.core, clocks, report, lambda labels: True, QueueSettings())
        box.append(controller)
        return controller, view

    async def _pass(self) -> None:
        """Go from event to event; samples are taken at the ends of months, and the books closed when all is over."""
        span = self.load.days * DAY / 1000
        marks = [span * (number + 1) / SAMPLES for number in range(SAMPLES)]
        began, self._before = time.process_time(), (0, 0, 0.0, 0, 0.0)
        while self._due or self._arrivals or marks:
            due = self._due[0][0] if self._due else self.loop.time() + PATIENCE
            if marks and marks[0] <= due:
                await self._until(marks.pop(0))
                self.months.append(self._month(time.process_time() - began))
                continue
            if not self._due and not marks:
                await self._until(due)
                if not self._due:  # what waits will never start
                    break
                continue
            await self._until(due)
            while self._due and self._due[0][0] <= self.loop.time():
                _, _, what, key = heapq.heappop(self._due)
                await self._happen(what, key)
        await self._until(self.loop.time() + 60)
        self._close()

    async def _until(self, at: float) -> None:
        self.loop.due = at
        await asyncio.sleep(max(0.0, at - self.loop.time()))

    async def _happen(self, what: int, key: str) -> None:
        namespace, name = key.split("/")
        if what == ARRIVE:
            await self.store.create(job(self._arrivals[key]))
            self._next_arrival()
        elif what == DELETE:
            await self.store.delete(JOB, name, namespace)
        elif key in self._runs and self._runs[key] <= self.loop.time():
            self._runs.pop(key)
            done = [{"type": "Complete", "status": "True", "reason": "Completed", "message": "done"}]
            await self._status(namespace, name, active=0, succeeded=self._arrivals.pop(key).count, conditions=done)
            self._at(self.loop.time() + TTL, DELETE, key)

    def _at(self, at: float, what: int, key: str) -> None:
        heapq.heappush(self._due, (at, next(self._numbers), what, key))

    def _next_arrival(self) -> None:
        arrival = next(self._jobs, None)
        self._coming = arrival is not None
        if arrival is not None:
            key = f"{arrival.namespace}/{arrival.name}"
            self._arrivals[key] = arrival
            self._at(arrival.at / 1000, ARRIVE, key)

    def _heard(self, gvk: Any, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._changed.put_nowait((new["metadata"]["namespace"], new["metadata"]["name"]))

    async def _kubelet(self) -> None:
        """Start the pods of a Job that is unsuspended, and stop those of one that is suspended, which starts again."""
        while True:
            namespace, name = await self._changed.get()
            try:
                found = await self.store.get(JOB, name, namespace)
            except NotFound:
                continue
            key, suspended = f"{namespace}/{name}", found["spec"]["suspend"]
            arrival = self._arrivals.get(key)
            if arrival is None:
                continue
            if suspended and key in self._runs:
                self._runs.pop(key)
                rows = [{"type": "Suspended", "status": "True"}]
                await self._status(namespace, name, active=0, conditions=rows)
            elif not suspended and key not in self._runs:
                ends = self.loop.time() + arrival.run / 1000
                self._runs[key] = ends
                self._at(ends, END, key)
                rows, began = [{"type": "Suspended", "status": "False"}], stamp(moment(self.loop))
                await self._status(namespace, name, active=arrival.count, startTime=began, conditions=rows)

    async def _status(self, namespace: str, name: str, **fields: Any) -> None:
        await self.store.patch(JOB, name, namespace, {"status": fields}, subresource="status")

    def _month(self, seconds: float) -> Month:
        gc.collect()
        ended, evicted = self.judge.ended.total(), self.judge.evicted
        was_ended, was_evicted, core, rounds, cpu = self._before
        self._before = ended, evicted, self.core.seconds, self.core.rounds, seconds
        objects = sum(map(len, self.store._objects.values()))
        round_ms = 1000 * (self.core.seconds - core) / max(1, self.core.rounds - rounds)
        job_ms = 1000 * (seconds - cpu) / max(1, ended - was_ended)
        waiting = len(self._arrivals) - len(self._runs) - self._coming
        return Month(ended - was_ended, waiting, evicted - was_evicted, memory(), objects, round_ms, job_ms)

    def _close(self) -> None:
        """Look for what did not come through."""
        self.lost += [f"{key} did not end" for key in sorted(self._arrivals)]
        self.lost += [f"{key} ended {n} times" for key, n in sorted(self.judge.ended.items()) if n != 1]
        self.lost += [f"{len(uids)} {kind}s are left" for kind, uids in self.judge.there.items() if uids]


def moment(loop: VirtualLoop) -> datetime:
    """The virtual time as a date."""
    return BEGIN + timedelta(seconds=loop.time())


def stamp(at: datetime) -> str:
    """A time as Kubernetes writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def memory() -> float:
    """What this process has in memory now, in MiB; where the system does not say, the most that it had."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)


def live(load: Load, rules: Rules) -> Year:
    """Let a load live in a loop of its own."""
    loop = VirtualLoop()
    year = Year(load, rules, loop)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(year.run())
    return year
