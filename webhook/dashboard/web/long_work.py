"""What takes long: a what-if, in a thread, and a simulation, in a child process. One at a time, each within a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Final, TypeVar

from webhook.dashboard.model.simulation import ProgressView, SimulationView, TraceView
from webhook.dashboard.model.workloads import Outlook, WhatIf
from webhook.dashboard.views.rows import Named, jobs_of
from webhook.dashboard.views.simulate import OtherQuota, UnknownQuota, nominal, with_quota
from webhook.dashboard.views.what_if import Deadline, Impossible, OutOfTime, changed, facts_around, gpu_of, outlook
from webhook.dashboard.web.access import PageReader
from webhook.dashboard.web.answers import Views
from webhook.dashboard.web.query import FieldError, Query, other_quota, text, wish
from webhook.dashboard.web.simulation_worker import SimulationTask
from webhook.dashboard.web.simulations import CannotSimulate, Simulations
from webhook.documents import Document
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import names_of, shipped
from webhook.queue.definitions import local_of
from webhook.queue.model import Snapshot, Workload
from webhook.queue.workload_facts import facts_of
from webhook.server.responses import StatusError

T = TypeVar("T")
WHAT_IF_SECONDS: Final = 20.0
"""Seconds for a what-if."""
SIMULATION_SECONDS: Final = 60.0
"""Seconds for a simulation."""
JOBS: Final = 2000
"""The latest jobs that are run again."""


@dataclass(slots=True)
class LongWork:
    """Runs at most one what-if or simulation at a time; further requests get 429. `stop` ends the one that runs."""

    views: Views
    _stopped: bool = field(default=False, init=False)
    _busy: bool = field(default=False, init=False)
    _simulations: Simulations = field(default_factory=Simulations, init=False)

    def stop(self) -> None:
        """End what is under way, and begin nothing more."""
        self._stopped = True
        self._simulations.stop()

    async def what_if(self, reader: PageReader, namespace: str, name: str, query: Query) -> WhatIf:
        """Decide about a workload as it is, and as it is wished for."""
        views, source = self.views, self.views.sources
        found = await views.found(reader, namespace, name, query)
        entry = source.state.entries.get(f"{namespace}/{found['metadata']['name']}")
        if entry is None:
            raise StatusError(f"Workload {namespace}/{name} is not in the queues yet", 404)
        workload = facts_of(entry)
        wanted = wish(query, gpu_of(workload))
        try:
            other = changed(workload, wanted)
        except Impossible as error:
            raise FieldError("gpus", str(error)) from None
        local_queues = source.state.local_queues
        if wanted.queue is not None and f"{namespace}/{wanted.queue}" not in local_queues:
            raise FieldError("queue", f"no LocalQueue {wanted.queue} in namespace {namespace}")
        named = Named(jobs_of(source), await views.sees_around(reader, set(source.state.by_queue)))
        revision, told = source.revision, wanted.told()
        doors = (local_queues.get(local_of(each)) for each in (workload, other))
        facts = facts_around(source.state, {door.cluster_queue for door in doors if door is not None})

        def work() -> WhatIf:
            begun = monotonic()
            now, then, partial = self._decide(facts, (workload, other), named)
            return WhatIf(revision, told, now, then, round(1000 * (monotonic() - begun)), partial)

        return await self._alone(asyncio.to_thread(work))

    def _decide(
        self, snapshot: Snapshot, both: tuple[Workload, Workload], named: Named
    ) -> tuple[Outlook, Outlook, bool]:
        source = self.views.sources
        deadline = Deadline(monotonic, monotonic() + WHAT_IF_SECONDS / 2, lambda: self._stopped)
        found: list[Outlook] = []
        try:
            rules, now = source.core.rules, source.now()
            found.extend(outlook(snapshot, rules, now, workload, deadline, named) for workload in both)
        except OutOfTime:
            found += [Outlook(False, "")] * (2 - len(found))
            return found[0], found[1], True
        return found[0], found[1], False

    async def trace(self, reader: PageReader) -> TraceView:
        """Return which recorded jobs there are to run again, and which rules."""
        await self._allowed(reader)
        arrivals, partial = await self.views.past.arrivals()
        chosen = arrivals[-JOBS:]
        since, until = (chosen[0].at, chosen[-1].at) if chosen else (0, 0)
        cut = partial or len(chosen) < len(arrivals)
        return TraceView(self.views.past.source, len(chosen), since, until, cut, tuple(self._rules_known()))

    async def progress(self, reader: PageReader) -> ProgressView:
        """Return how far the simulation under way is."""
        await self._allowed(reader)
        return ProgressView(self._simulations.done)

    async def simulate(self, reader: PageReader, query: Query) -> SimulationView:
        """Run the recorded jobs under the quota and rules of today, and under others."""
        views, source = self.views, self.views.sources
        await self._allowed(reader)
        quota, names, queue = other_quota(query), self._names(query), text(query, "queue")
        if quota is None and not names:
            raise FieldError("quota", "set queue, resource and quota, or rules")
        today = replace(source.core.snapshot(), workloads=())
        other = today if quota is None else _with_quota(today, quota)
        arrivals, partial = await views.past.arrivals()
        if not arrivals:
            raise StatusError("no finished job to simulate", 409)
        chosen = arrivals[-JOBS:]
        named = "+".join(names) or f"{query.get('quota')} {text(query, 'resource')}"
        task = SimulationTask(
            today, chosen, self._documents(), (source.rules, self._wanted(names)), quota, queue,
            ("today", named),
        )  # fmt: skip
        begun = monotonic()
        made = await self._alone(self._simulated(task))
        took, cut = round(1000 * (monotonic() - begun)), partial or len(chosen) < len(arrivals)
        quotas, since, until = (nominal(today, queue), nominal(other, queue)), chosen[0].at, chosen[-1].at
        return SimulationView(views.past.source, since, until, made.today, made.other, quotas, cut, took)

    async def _simulated(self, task: SimulationTask) -> Any:
        try:
            async with asyncio.timeout(SIMULATION_SECONDS):
                return await self._simulations.run(task)
        except TimeoutError:
            raise StatusError(f"the simulation took longer than {SIMULATION_SECONDS:g} s", 503, "busy") from None
        except CannotSimulate as error:
            raise FieldError("rules", f"these rules cannot be used: {error}") from None

    async def _allowed(self, reader: PageReader) -> None:
        if not await self.views.access.may(reader, "clusterqueues"):
            raise StatusError("you may not get clusterqueues.kueue.x-k8s.io: a simulation shows all of them", 403)

    def _documents(self) -> tuple[Document, ...]:
        return tuple(self.views.sources.policies.current.bundle.queue_policies)

    def _rules_known(self) -> list[str]:
        return sorted({*names_of(self._documents()), *shipped()})

    def _names(self, query: Query) -> tuple[str, ...]:
        """Read the rules that are wanted. Raises FieldError where there are none of such a name."""
        names = tuple(name for name in text(query, "rules").replace("+", ",").replace(" ", "").split(",") if name)
        known = self._rules_known() if names else []
        if unknown := [name for name in names if name not in known]:
            raise FieldError("rules", f'no rules are called "{unknown[0]}"; there are {", ".join(known)}')
        return names

    def _wanted(self, names: tuple[str, ...]) -> Configured:
        rules = self.views.sources.rules
        return replace(rules, names=names) if names else rules

    async def _alone(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something, unless something else is being done."""
        if self._busy or self._stopped:
            work.close()
            raise StatusError("another long request is running; try again in a few seconds", 429)
        self._busy = True
        task = asyncio.create_task(work)
        task.add_done_callback(self._free)
        return await asyncio.shield(task)  # whoever asked may go; what was begun goes on to its end

    def _free(self, _: asyncio.Task[T]) -> None:
        self._busy = False


def _with_quota(today: Snapshot, quota: OtherQuota) -> Snapshot:
    try:
        return with_quota(today, quota)
    except UnknownQuota as error:
        raise FieldError(error.field, str(error)) from None
