"""One workload: its pods, why it waits and by which clause, what must end first, and its life."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from webhook.api.workload_owner import is_named, owner_of
from webhook.cluster.api.kinds import MANAGED, WORKLOAD
from webhook.dashboard.model.workloads import LifeEvent, PodSetRow, WorkloadView
from webhook.dashboard.sources import Sources
from webhook.dashboard.views.life import Lives
from webhook.dashboard.views.rows import Named, Rows, shortage_rows
from webhook.kube.times import milliseconds
from webhook.policy.queue_rules.deciding_clause import RuleClause, below, clause_of
from webhook.queue.decisions import Pending
from webhook.queue.explain import explain
from webhook.queue.pending.queue import Entry
from webhook.store.objects import Object, key_of


def find_workload(sources: Sources, namespace: str, name: str, kind: str = "") -> Object | None:
    """Find a Workload by its own name or by its job's."""
    informer = sources.view.informer(WORKLOAD)
    if kind in ("", WORKLOAD.kind) and (found := informer.get(name, namespace)) is not None:
        return found
    wanted = f"{kind}/{name}" if kind else name
    owned = (workload for workload in informer.all(namespace) if is_named(workload, wanted, namespace))
    return max(owned, key=lambda workload: str(workload["metadata"].get("creationTimestamp")), default=None)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of the past of a Workload: what this replica saw of all, what a journal has of this one.

    `shown` says whether the reader may see the job, and so how it was shaped.
    """

    lives: Lives
    shown: bool
    past: Sequence[LifeEvent] = ()
    source: Literal["journal", "memory"] = "memory"


def workload_view(sources: Sources, found: Object, recorded: Recorded, named: Named) -> WorkloadView | None:
    """Return the explanation of a Workload; None while the core does not know it."""
    key = "/".join(key_of(found))
    state = sources.state
    entry = state.entries.get(key)
    if entry is None:
        return None
    told = explain(state, key)
    row = Rows(sources, named).any(entry, told)
    local_queues = [queue.name for queue in state.local_queues.values() if queue.namespace == row.namespace]
    return WorkloadView(
        sources.revision,
        sources.now(),
        row,
        tuple(_pod_sets(entry)),
        max(0, row.position - 1),
        _clause(sources, entry, told) if told is not None else None,
        shortage_rows(told.shortages, named) if told is not None else (),
        tuple(_named(event, named) for event in _life(sources, found, recorded)),
        tuple(sorted(local_queues)),
        recorded.source,
    )


def _clause(sources: Sources, entry: Entry, told: Pending) -> RuleClause | None:
    """Return the clause that decides, with the path that its file has where policies are."""
    found = clause_of(sources.state, entry, told)
    if found is None:
        return None
    return msgspec.structs.replace(found, file=below(found.file, sources.policies.paths))


def _named(event: LifeEvent, named: Named) -> LifeEvent:
    """Return an event as the reader may see it."""
    ref = event.preemptor
    if ref is None:
        return event
    return msgspec.structs.replace(event, preemptor=named.ref(ref.workload, ref.cluster_queue, ref.job))


def _life(sources: Sources, workload: Object, recorded: Recorded) -> list[LifeEvent]:
    """Give the events of a Workload behind those of its job: when and by whom it was created, and how it was shaped."""
    namespace, kind, name = owner_of(workload)
    uid = next((ref["uid"] for ref in workload["metadata"].get("ownerReferences") or () if ref.get("controller")), "")
    job = sources.view.by_uid(str(uid), MANAGED) if uid else None
    entry = sources.state.entries.get("/".join(key_of(workload)))
    by = entry.workload.user if entry is not None else ""
    created = milliseconds((job if job is not None else workload)["metadata"].get("creationTimestamp"))
    shaped = recorded.lives.shaped(namespace, kind, name) if recorded.shown else None
    events = [LifeEvent(created, "created", by=by)]
    if shaped is not None:  # before it was stored, though that is told to the second only
        events.append(msgspec.structs.replace(shaped, at=max(shaped.at, created)))
    return [*events, *recorded.lives.of(workload, recorded.past)]


def _pod_sets(entry: Entry) -> Iterator[PodSetRow]:
    given = {pods.name: pods for pods in entry.admission.pod_set_assignments} if entry.admission is not None else {}
    for pods in entry.workload.pod_sets:
        got = given.get(pods.name)
        yield PodSetRow(
            pods.name,
            pods.count,
            dict(pods.requests),
            pods.min_count or 0,
            dict(got.flavors) if got is not None else {},
            got.count if got is not None else 0,
        )
