"""The page of one replica, put together: what it hears, what it keeps, and the application of its port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from webhook import __version__
from webhook.admission.verdict import Verdict
from webhook.admission.wire import Request
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.pace import in_slices
from webhook.dashboard.model.session import SessionView
from webhook.dashboard.model.workloads import JobRef
from webhook.dashboard.past.ended import Ended
from webhook.dashboard.past.history import SAMPLE_SECONDS, Runs, Samples
from webhook.dashboard.past.past import Past
from webhook.dashboard.sources import Sources
from webhook.dashboard.views.life import Lives
from webhook.dashboard.views.policies import PolicyLog
from webhook.dashboard.views.rows import ref_of
from webhook.dashboard.web.access import Access, Sessions
from webhook.dashboard.web.answers import Views
from webhook.dashboard.web.app import DashboardApp
from webhook.dashboard.web.events import Listeners
from webhook.dashboard.web.files import static_files
from webhook.dashboard.web.forecasts import Forecasts
from webhook.dashboard.web.long_work import LongWork
from webhook.kube.gvk import GroupVersionKind
from webhook.policy_reload.policies import Policies
from webhook.queue.model import Workload
from webhook.queue.rules import Rules
from webhook.store.objects import Object


def no_queues(rules: Rules) -> QueueCore:
    """Return what the page shows of a replica in a mode without queues: a core that knows none."""
    return QueueCore(rules)


class Page:
    """Told of objects, verdicts and reloads as they come; `app` answers. `clock` is in seconds.

    With `login` a reader has to show a token, and sees what the API server lets them get; without one, everything.
    `plain` says that it is for this machine alone, without TLS.
    `counts` says that nobody else keeps the counts of workloads up to date.
    """

    def __init__(
        self, sources: Sources, clock: Callable[[], float], *, login: bool, plain: bool = False, counts: bool = False
    ) -> None:
        now, self.plain = sources.now(), plain
        self._sources, self._login, self._counts = sources, login, counts
        self._lives, self._samples, self._runs, self._ended = Lives(self._job), Samples(now), Runs(self._facts), Ended()
        self._log = PolicyLog(now)
        self._log.begin(sources.policies.current)
        self._past = Past(sources.journal, sources.records, self._samples, self._runs, self._ended, clock)
        store = sources.view.store
        views = Views(sources, Access(store, clock), self._lives, self._log, self._past, Forecasts(sources, clock))
        self._work, self._listeners = LongWork(views), Listeners(self._marks)
        sessions = Sessions(store, clock) if login else None
        self.app = DashboardApp(views, self._work, self._listeners, self._session, static_files(), sessions, plain)

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Take note of a change of an object."""
        if gvk.kind == WORKLOAD.kind and gvk.group == WORKLOAD.group:
            self._lives.heard(old, new)
            self._samples.heard(old, new)
            self._runs.heard(old, new)
            self._ended.heard(old, new)
            if self._counts:
                self._sources.counts.heard(old, new)

    def reviewed(self, request: Request, verdict: Verdict, phase: str) -> None:
        """Take note of a verdict; `phase` is `mutate`, `validate` or a part of one."""
        mutating = phase.startswith("mutate")
        self._log.reviewed(verdict, mutating=mutating)
        if mutating:
            self._lives.reviewed(request, verdict, self._sources.now())

    def swapped(self, policies: Policies) -> None:
        """Take note of another set of policies."""
        self._log.swapped(policies, self._sources.now())

    async def follow(self) -> None:
        """Look at the queues once a minute, for ever."""
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            await in_slices(self._samples.look(self._sources.state, self._sources.now()))

    async def close(self) -> None:
        """End streams, and what takes long."""
        self._work.stop()
        await self._listeners.close()

    def _facts(self, key: str) -> Workload | None:
        entry = self._sources.state.entries.get(key)
        return None if entry is None else entry.workload

    def _job(self, uid: str) -> JobRef | None:
        found = self._sources.view.informer(WORKLOAD).by_uid(uid)
        return None if found is None else ref_of(found)

    def _marks(self) -> tuple[int, str]:
        files = self._sources.policies
        return self._sources.revision, f"{files.current.bundle.digest} {files.problem}"

    def _session(self) -> SessionView:
        sources = self._sources
        mode: Literal["read-only", "login"] = "login" if self._login else "read-only"
        return SessionView(
            mode,
            __version__,
            leads=sources.leads(),
            identity=sources.identity,
            rules=sources.rules.names,
            history=self._past.source,
        )
