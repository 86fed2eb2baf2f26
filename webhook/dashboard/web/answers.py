"""Each answer of the page's API put together: what may be seen is asked first, then the state is gone through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from webhook.api.pending_message import start_unknown_of
from webhook.cluster.pace import in_slices
from webhook.dashboard.model.policies import PoliciesView
from webhook.dashboard.model.queues import ClusterView, FoundWorkloads, QueueView, QuotaNode, StartRow, StartsView
from webhook.dashboard.model.workloads import WorkloadView
from webhook.dashboard.past.past import Past
from webhook.dashboard.sources import Sources
from webhook.dashboard.views.cluster import cluster_view
from webhook.dashboard.views.job import Recorded, find_workload, workload_view
from webhook.dashboard.views.life import Lives
from webhook.dashboard.views.policies import PolicyLog, policies_view
from webhook.dashboard.views.queue import QueuePast, find, queue_view, waiting_keys
from webhook.dashboard.views.rows import Named, Sees, jobs_of
from webhook.dashboard.web.access import Access, PageReader
from webhook.dashboard.web.forecasts import Forecasts
from webhook.dashboard.web.query import Query, lists, nodes, number, text
from webhook.jobs.read_job import row_of
from webhook.queue.pending.queue import Status
from webhook.server.responses import StatusError
from webhook.store.objects import Object

Part = Literal["cluster", "policies", "simulate"]
POLICIES: Final = ("validatingadmissionpolicies", "admissionregistration.k8s.io")
"""The resource, and its group, whose readers may read the policies of files too."""


@dataclass(frozen=True, slots=True)
class Views:
    """Gives answers to readers. Raises StatusError where there is none for this one."""

    sources: Sources
    access: Access
    lives: Lives
    log: PolicyLog
    past: Past
    forecasts: Forecasts

    async def cluster(self, reader: PageReader, query: Query) -> ClusterView:
        """Return the tree of cohorts and queues."""
        part, offset, limit = nodes(query)
        queues = await self._queues(reader)

        def wanted(node: QuotaNode) -> bool:
            return part in node.name.casefold() and (queues is None or (node.kind == "queue" and node.name in queues))

        chosen = wanted if part or queues is not None else None
        return await in_slices(cluster_view(self.sources, chosen, offset, limit))

    async def queue(self, reader: PageReader, name: str, query: Query) -> QueueView:
        """Return one ClusterQueue."""
        queues = await self._queues(reader)
        if name not in self.sources.state.by_queue or (queues is not None and name not in queues):
            raise StatusError(f'ClusterQueue "{name}" does not exist, or you may not get it', 404)
        sees = await self._sees(reader, name)
        since = number(query, "since", 0)
        past = QueuePast(await self.past.history(self.sources.state, name, since), self.past.ended.of(name))
        view = await in_slices(queue_view(self.sources, name, lists(query), sees, past))
        if view is None:
            raise StatusError(f'ClusterQueue "{name}" is gone', 404)
        return view

    async def starts(self, reader: PageReader, name: str, query: Query) -> StartsView:
        """Return when the pending workloads of a part of a queue's list start."""
        queues = await self._queues(reader)
        if name not in self.sources.state.by_queue or (queues is not None and name not in queues):
            raise StatusError(f'ClusterQueue "{name}" does not exist, or you may not get it', 404)
        sees = await self._sees(reader, name)
        keys = await in_slices(waiting_keys(self.sources, name, lists(query), sees))
        return StartsView(tuple(await self._start_rows(name, keys, sees)))

    async def start(self, reader: PageReader, namespace: str, name: str, query: Query) -> StartRow:
        """Return when one workload starts."""
        found = await self.found(reader, namespace, name, query)
        key = f"{namespace}/{found['metadata']['name']}"
        entry = self.sources.state.entries.get(key)
        pending_queue = entry.pending_queue if entry is not None else None
        if entry is None or pending_queue is None or entry.status != Status.WAITING:
            return StartRow(key)
        sees = await self._sees(reader, pending_queue.queue.name)
        (row,) = await self._start_rows(pending_queue.queue.name, [key], sees)
        return row

    async def _start_rows(self, queue: str, keys: list[str], sees: Sees) -> list[StartRow]:
        told, named = await self.forecasts.of(queue, keys), Named(jobs_of(self.sources), sees)
        rows = []
        for key in keys:
            start = told[key]
            why = named.start_unknown(start_unknown_of(start.unknown, start.blocked), start.job)
            rows.append(StartRow(key, start.at or 0, why))
        return rows

    async def workload(self, reader: PageReader, namespace: str, name: str, query: Query) -> WorkloadView:
        """Return one Workload."""
        found = await self.found(reader, namespace, name, query)
        metadata = found["metadata"]
        own = f"{namespace}/{metadata['name']}"
        entry = self.sources.state.entries.get(own)
        pending_queue = entry.pending_queue if entry is not None else None
        sees = await self._sees(reader, pending_queue.queue.name if pending_queue is not None else "")
        shown = await self._sees_job(reader, found)
        past = await self.past.life(own)
        recorded = Recorded(self.lives, shown, past, self.past.source)
        view = workload_view(self.sources, found, recorded, Named(jobs_of(self.sources), sees))
        if view is None:
            raise StatusError(f"Workload {own} is not in the queues yet", 404)
        return view

    async def found(self, reader: PageReader, namespace: str, name: str, query: Query) -> Object:
        """Find a Workload that the reader may get."""
        found = None
        if await self.access.may(reader, "workloads", namespace):
            found = find_workload(self.sources, namespace, name, text(query, "kind"))
        if found is None:
            raise StatusError(f"no Workload and no queued job named {name} in namespace {namespace}", 404)
        return found

    async def find(self, reader: PageReader, query: Query) -> FoundWorkloads:
        """Find queues and workloads by a part of a name."""
        wanted = text(query, "text")
        if not wanted:
            return FoundWorkloads((), ())
        queues, sees = await self._queues(reader), await self._sees(reader, "")
        found = await in_slices(find(self.sources, wanted, sees))
        names = tuple(name for name in found.queues if queues is None or name in queues)
        return FoundWorkloads(names, found.workloads)

    async def policies(self, reader: PageReader) -> PoliciesView:
        """Return the policies in force."""
        if not await self._reads_policies(reader):
            raise StatusError("you may not get validatingadmissionpolicies.admissionregistration.k8s.io", 403)
        return policies_view(self.sources, self.log)

    async def may(self, reader: PageReader) -> tuple[Part, ...]:
        """Name what a reader sees besides the queues and jobs of their namespaces."""
        everything, policies = await self.access.may(reader, "clusterqueues"), await self._reads_policies(reader)
        return (*(("cluster", "simulate") if everything else ()), *(("policies",) if policies else ()))

    async def _reads_policies(self, reader: PageReader) -> bool:
        name, group = POLICIES
        return await self.access.may(reader, name, "", group)

    async def sees_around(self, reader: PageReader, queues: set[str]) -> Sees:
        """Return whose workloads the reader may see among those of some queues."""
        state = self.sources.state
        spaces = {local.namespace for local in state.local_queues.values() if local.cluster_queue in queues}
        return await self.access.sees(reader, "workloads", spaces)

    async def _sees(self, reader: PageReader, queue: str) -> Sees:
        """Return whose workloads the reader may see in a queue's tree, which may hold its quota; empty: in all."""
        pending_queue = self.sources.state.by_queue.get(queue)
        if pending_queue is None:
            return await self.sees_around(reader, set(self.sources.state.by_queue))
        return await self.sees_around(reader, {node.name for node in pending_queue.node.tree.nodes if node.is_queue})

    async def _queues(self, reader: PageReader) -> frozenset[str] | None:
        """Name the ClusterQueues that a reader may see; None: all.

        Whoever may get a LocalQueue sees the ClusterQueue behind it: its amounts are in every message of why one waits.
        """
        if await self.access.may(reader, "clusterqueues"):
            return None
        local_queues = list(self.sources.state.local_queues.values())
        sees = await self.access.sees(reader, "localqueues", (local.namespace for local in local_queues))
        return frozenset(local.cluster_queue for local in local_queues if sees(local.namespace))

    async def _sees_job(self, reader: PageReader, workload: Object) -> bool:
        """Return whether the reader may get the job of a Workload."""
        metadata = workload["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if owner.get("controller") and (row := row_of(owner)) is not None:
                return await self.access.may(reader, row.resource, str(metadata.get("namespace") or ""), row.group)
        return False
