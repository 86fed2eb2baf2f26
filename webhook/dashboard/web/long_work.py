"""What takes long: a what-if and a simulation. In a thread, one at a time, each within a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final, TypeVar

from webhook.dashboard.model.simulation import SimulatedSeries, SimulationView
from webhook.dashboard.model.workloads import Outlook, WhatIf
from webhook.dashboard.views.rows import Named, jobs_of
from webhook.dashboard.views.simulate import from_start, nominal, run, with_quota
from webhook.dashboard.views.what_if import Deadline, OutOfTime, changed, gpu_of, needed, outlook
from webhook.dashboard.web.access import PageReader
from webhook.dashboard.web.answers import Views
from webhook.dashboard.web.query import Query, other_quota, text, wish
from webhook.diagnostics import SourceError
from webhook.offline.simulate.arrivals import Arrival
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import names_of, rules_configured, shipped
from webhook.queue.model import Snapshot, Workload
from webhook.queue.rules import Rules
from webhook.server.responses import StatusError

T = TypeVar("T")
PATIENCE: Final = 20.0
"""Seconds for one answer."""
JOBS: Final = 2000
"""The latest jobs that are run again."""


@dataclass(slots=True)
class LongWork:
    """Does one thing at a time; whoever comes meanwhile is asked to come again. `stopped` ends what is under way."""

    views: Views
    stopped: bool = False
    _busy: bool = field(default=False, init=False)

    async def what_if(self, reader: PageReader, namespace: str, name: str, query: Query) -> WhatIf:
        """Decide about a workload as it is, and as it is wished for."""
        views, source = self.views, self.views.sources
        found = await views.found(reader, namespace, name, query)
        snapshot = source.core.snapshot()
        workload = next((w for w in snapshot.workloads if w.key == f"{namespace}/{found['metadata']['name']}"), None)
        if workload is None:
            raise StatusError(f"Workload {namespace}/{name} is not known to the queues yet", 404)
        wanted = wish(query, gpu_of(workload))
        try:
            other = changed(workload, wanted)
        except ValueError as error:
            raise StatusError(str(error)) from None
        doors = {(q.namespace, q.name): q.cluster_queue for q in snapshot.local_queues}
        if wanted.queue is not None and (namespace, wanted.queue) not in doors:
            raise StatusError(f"no LocalQueue {wanted.queue} in namespace {namespace}", 404)
        queues = {doors.get((namespace, w.queue_name), "") for w in (workload, other)}
        named = Named(jobs_of(source), await views.sees_around(reader, set(source.state.by_queue)))
        revision, told = source.revision, wanted.told()

        def work() -> WhatIf:
            begun = monotonic()
            now, then, partial = self._decide(needed(snapshot, source.core.rules, queues), (workload, other), named)
            return WhatIf(revision, told, now, then, round(1000 * (monotonic() - begun)), partial)

        return await self._alone(work)

    def _decide(
        self, snapshot: Snapshot, both: tuple[Workload, Workload], named: Named
    ) -> tuple[Outlook, Outlook, bool]:
        source, deadline = self.views.sources, Deadline(monotonic, self._in_time())
        found: list[Outlook] = []
        try:
            rules, now = source.core.rules, source.now()
            found.extend(outlook(snapshot, rules, now, workload, deadline, named) for workload in both)
        except OutOfTime:
            found += [Outlook(False, "")] * (2 - len(found))
            return found[0], found[1], True
        return found[0], found[1], False

    async def simulate(self, reader: PageReader, query: Query) -> SimulationView:
        """Run the recorded jobs under the quota and rules of today, and under others."""
        views, source = self.views, self.views.sources
        if not await views.access.may(reader, "clusterqueues"):
            raise StatusError("you may not get clusterqueues.kueue.x-k8s.io: a simulation shows all of them", 403)
        quota, names, queue = other_quota(query), _names(text(query, "rules")), text(query, "queue")
        if quota is None and not names:
            raise StatusError("name what is to be otherwise: queue, resource and quota, or rules")
        documents = source.policies.current.bundle.queue_policies
        known = {*names_of(documents), *shipped()}
        if unknown := [name for name in names if name not in known]:
            raise StatusError(f'no rules are called "{unknown[0]}"; there are: {", ".join(sorted(known))}')
        today = replace(source.core.snapshot(), workloads=())
        try:
            other = today if quota is None else with_quota(today, quota)
            rules = source.core.rules
            if names:
                wanted: Configured = replace(source.rules, names=names)
                rules = await asyncio.to_thread(rules_configured, documents, wanted)
        except ValueError as error:
            raise StatusError(str(error)) from None
        except SourceError as error:
            raise StatusError(f"these rules cannot be used: {error}") from None
        arrivals, partial = await views.past.arrivals()
        if not arrivals:
            raise StatusError("no job has run to its end yet: nothing to run again", 404)
        chosen = arrivals[-JOBS:]

        def work() -> SimulationView:
            begun = monotonic()
            jobs = from_start(chosen)
            named = "+".join(names) or f"{query.get('quota')} {text(query, 'resource')}"
            first = self._run("today", today, source.core.rules, jobs, queue)
            second = self._run(named, other, rules, jobs, queue)
            quotas = nominal(today, queue), nominal(other, queue)
            took, cut = round(1000 * (monotonic() - begun)), partial or len(chosen) < len(arrivals)
            return SimulationView(views.past.source, chosen[0].at, chosen[-1].at, first, second, quotas, cut, took)

        try:
            return await self._alone(work)
        except OutOfTime:
            raise StatusError(f"the simulation took longer than {PATIENCE:g} s", 503, "busy") from None

    def _run(
        self, name: str, snapshot: Snapshot, rules: Rules, jobs: tuple[Arrival, ...], queue: str
    ) -> SimulatedSeries:
        until = self._in_time()
        return run(name, snapshot, rules, jobs, queue, lambda: monotonic() < until and not self.stopped)

    def _in_time(self) -> float:
        return monotonic() if self.stopped else monotonic() + PATIENCE / 2

    async def _alone(self, work: Callable[[], T]) -> T:
        """Do something in a thread, unless something else is being done."""
        if self._busy:
            raise StatusError("somebody else asks for something that takes long; try again in a few seconds", 429)
        self._busy = True
        task = asyncio.create_task(asyncio.to_thread(work))
        task.add_done_callback(self._free)
        return await asyncio.shield(task)  # whoever asked may go; the thread goes on to its end

    def _free(self, _: asyncio.Task[T]) -> None:
        self._busy = False


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.replace("+", ",").split(",") if name)
