"""Stopping and resuming queues and Workloads: what is written, and what it does to running work.

Only fields that people own are written (`spec.stopPolicy`, `spec.active`); Sluice, or Kueue, does the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.workload_owner import is_named, require_one_job
from webhook.cli.live.session import served
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.kube.condition_types import FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import NotFound
from webhook.store.objects import Object, ObjectStore

NONE, HOLD, DRAIN = "None", "Hold", "HoldAndDrain"
RELEASE: Final = 120.0
"""Seconds in which a stopped Workload is expected to have given its quota back."""


@dataclass(frozen=True, slots=True)
class StatusPatch:
    """One write that is to be confirmed: what is patched, and the sentence that says so."""

    gvk: GroupVersionKind
    name: str
    namespace: str | None
    patch: dict[str, Any]
    told: str

    async def write(self, store: ObjectStore, *, dry_run: bool = False) -> None:
        """Write it, or let the API server say what it would. Raises StoreError."""
        await store.patch(self.gvk, self.name, self.namespace, self.patch, dry_run=dry_run)


async def of_queue(store: ObjectStore, name: str, namespace: str | None, policy: str) -> StatusPatch:
    """Stop or resume a ClusterQueue, or the LocalQueue of `namespace`. Raises NotFound."""
    gvk = await _served(store, CLUSTER_QUEUE if namespace is None else LOCAL_QUEUE)
    queue = await store.get(gvk, name, namespace)
    pending, admitted = (
        int((queue.get("status") or {}).get(f"{word}Workloads") or 0) for word in ("pending", "admitted")
    )
    named, waiting = f"{gvk.kind} {namespace + '/' if namespace else ''}{name}", _counted(pending)
    told = {
        NONE: f"{named} is resumed; {waiting} can be admitted",
        HOLD: f"{named} is stopped; {waiting} cannot be admitted, {admitted} running continue",
        DRAIN: f"{named} is stopped and drained; {waiting} cannot be admitted, {admitted} running are evicted",
    }[policy]
    return StatusPatch(gvk, name, namespace, {"spec": {"stopPolicy": policy}}, told)


async def of_workload(store: ObjectStore, name: str, namespace: str, *, active: bool) -> StatusPatch:
    """Evict and hold a Workload, or put it back into its queue; `name` is its own or its job's.

    Raises NotFound, and ValueError where it has finished, as nobody would do anything about it, or is one of several.
    """
    workload = await workload_of(store, name, namespace)
    own = workload["metadata"]["name"]
    if holds(workload, FINISHED):
        raise ValueError(f"Workload {namespace}/{own} has finished: it holds no quota and waits for none")
    running = "is evicted" if holds(workload, QUOTA_RESERVED) else "loses its place in the queue"
    told = (
        f"Workload {namespace}/{own} {'is pending again' if active else f'{running} and is held until it is requeued'}"
    )
    return StatusPatch(await _served(store, WORKLOAD), own, namespace, {"spec": {"active": active}}, told)


async def workload_of(store: ObjectStore, name: str, namespace: str) -> Object:
    """Find a Workload by its name, or by that of the job it was made for (`[KIND/]NAME`). Raises NotFound.

    Of several it is the newest that has not finished: slices of an elastic job may be of the same second.
    Raises ValueError where they are of jobs of several kinds.
    """
    gvk = await _served(store, WORKLOAD)
    try:
        return await store.get(gvk, name, namespace)
    except NotFound:
        there = (await store.list(gvk, namespace)).items
    found = [workload for workload in there if is_named(workload, name, namespace)]
    if not found:
        raise NotFound(f'no queued job or Workload "{name}" in namespace {namespace}')
    found = [workload for workload in found if not holds(workload, FINISHED)] or found
    require_one_job(found, name, namespace)
    return max(found, key=lambda each: str(each["metadata"].get("creationTimestamp")))


async def released(
    store: ObjectStore, change: StatusPatch, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> bool:
    """Wait until a Workload that was stopped has no quota any more; False where it keeps it. Raises StoreError.

    One that finishes before it is stopped keeps its condition, but nothing of the quota.
    """
    for _ in range(int(RELEASE)):
        workload = await store.get(change.gvk, change.name, change.namespace)
        if holds(workload, FINISHED) or not holds(workload, QUOTA_RESERVED):
            return True
        await sleep(1)
    return False


async def _served(store: ObjectStore, gvk: GroupVersionKind) -> GroupVersionKind:
    """Return a kind in the version that the cluster serves; where it serves none, the request tells so."""
    return await served(store, gvk) or gvk


def _counted(number: int) -> str:
    return f"{number} pending Workload{'' if number == 1 else 's'}"
