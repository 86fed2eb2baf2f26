"""One workload: its pods, why it waits and by which clause, what must end first, and its life."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from webhook.api.snapshot.quota import milliseconds
from webhook.cluster.api.kinds import MANAGED, WORKLOAD
from webhook.dashboard.model.workloads import LifeEvent, PodSetRow, WorkloadView
from webhook.dashboard.sources import Sources
from webhook.dashboard.views.clause import clause_of
from webhook.dashboard.views.life import Lives, in_time
from webhook.dashboard.views.rows import Sees, any_row, jobs_of, shortage_rows
from webhook.offline.plan.objects import is_named, owner_of
from webhook.queue.explain import explain
from webhook.queue.pending.queue import Entry
from webhook.store.objects import Object, key_of


def find_workload(sources: Sources, namespace: str, name: str, kind: str = "") -> Object | None:
    """Find a Workload by its own name or by its job's."""
    mirror = sources.view.mirror(WORKLOAD)
    if kind in ("", WORKLOAD.kind) and (found := mirror.get(name, namespace)) is not None:
        return found
    wanted = f"{kind}/{name}" if kind else name
    owned = (workload for workload in mirror.all(namespace) if is_named(workload, wanted, namespace))
    return max(owned, key=lambda workload: str(workload["metadata"].get("creationTimestamp")), default=None)


def workload_view(
    sources: Sources,
    found: Object,
    lives: Lives,
    sees: Sees,
    *,
    job_shown: bool,
    past: Iterable[LifeEvent] = (),
    source: Literal["journal", "memory"] = "memory",
) -> WorkloadView | None:
    """Give what there is to say of a Workload; None while the core does not know it.

    `job_shown` says whether the reader may see the job, and so how it was shaped; `past` is what a journal has of it.
    """
    key = "/".join(key_of(found))
    state = sources.state
    entry = state.entries.get(key)
    if entry is None:
        return None
    told = explain(state, key)
    row = any_row(sources, entry, told)
    doors = [door.name for door in state.local_queues.values() if door.namespace == row.namespace]
    return WorkloadView(
        sources.revision,
        sources.now(),
        row,
        tuple(_pod_sets(entry)),
        max(0, row.position - 1),
        clause_of(state, entry, told) if told is not None else None,
        shortage_rows(told.shortages, jobs_of(sources), sees) if told is not None else (),
        in_time([*past, *lives.of(found), *_of_job(sources, found, lives, job_shown=job_shown)]),
        tuple(sorted(doors)),
        source,
    )


def _of_job(sources: Sources, workload: Object, lives: Lives, *, job_shown: bool) -> Iterator[LifeEvent]:
    """Give what is known of the job: when and by whom it was created, and how it was shaped."""
    namespace, kind, name = owner_of(workload)
    uid = next((ref["uid"] for ref in workload["metadata"].get("ownerReferences") or () if ref.get("controller")), "")
    job = sources.view.by_uid(str(uid), MANAGED) if uid else None
    entry = sources.state.entries.get("/".join(key_of(workload)))
    by = entry.workload.user if entry is not None else ""
    made = job if job is not None else workload
    yield LifeEvent(milliseconds(made["metadata"].get("creationTimestamp")), "created", by=by, detail=kind)
    if job_shown and (shaped := lives.shaped(namespace, kind, name)) is not None:
        yield shaped


def _pod_sets(entry: Entry) -> Iterator[PodSetRow]:
    given = {pods.name: pods for pods in entry.admission.pod_sets} if entry.admission is not None else {}
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
