"""Writes the status of queues (counts, usage, the condition `Active`) if it has changed, and updates the gauges.

Finalizers of objects that are being deleted and no longer in use are removed. A refused write is retried once a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from webhook.cluster.api.finalizers import let_go, marked
from webhook.cluster.api.kinds import ADMISSION_CHECK, CLUSTER_QUEUE, COHORT, FLAVOR, LOCAL_QUEUE, TOPOLOGY, WORKLOAD
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core.protocol import Core
from webhook.cluster.pace import Slice, in_slices
from webhook.cluster.queues.conditions import Known
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.in_use import unheld, unmarked, unnamed
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.queues.status import QueueCounts, status_of, tally, with_share
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.store.errors import NotFound, Refused, StoreError
from webhook.store.objects import Object, key_of, uid_of

log = logging.getLogger(__name__)

RECOMPUTE_MS: Final = 5_000
"""Milliseconds after which the status is computed without any change: the recent usage decays with time."""
REFUSED: Final = 60_000
"""Milliseconds until a refused write is retried: permissions or a CRD must change first."""
_STATUS: Final = "status"
_FINALIZERS: Final = "finalizers"
_NOT_WRITTEN: Final = "cannot write the %s of %s %s: %s"
_SHOWN: Final = frozenset(
    (gvk.group, gvk.kind) for gvk in (WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, FLAVOR, ADMISSION_CHECK, COHORT, TOPOLOGY)
)


class QueueStatusWriter:
    """Writes the status of queues, and the finalizers of what they use."""

    def __init__(self, context: ControllerContext, report: QueueMetrics, core: Core, counts: WorkloadCounts) -> None:
        self._view, self._writer, self._clock_ms = context.view, context.writer, context.clocks.milliseconds
        self._report, self._core, self._counts = report, core, counts
        self._changed, self._revision, self._last = True, -1, 0
        self._refused: dict[tuple[str, str], int] = {}

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Record a change in the view."""
        if (gvk.group, gvk.kind) not in _SHOWN:
            return
        self._changed = True
        if gvk.kind == WORKLOAD.kind:
            self._counts.heard(old, new)
        elif old is not None and (new is None or uid_of(new) != uid_of(old)):
            for what in (_STATUS, _FINALIZERS):
                self._refused.pop((what, uid_of(old)), None)

    def _is_due(self) -> bool:
        """Return whether the status must be computed: something changed, or RECOMPUTE_MS have passed."""
        now, revision = self._clock_ms(), self._core.revision
        if not self._changed and revision == self._revision and now < self._last + RECOMPUTE_MS:
            return False
        self._changed, self._revision, self._last = False, revision, now
        return True

    async def publish(self) -> None:
        """Update the status of every queue that the core knows, and the finalizers of what they use."""
        if not self._is_due():
            return
        queues, local_queues = self._view.informer(CLUSTER_QUEUE).all(), self._view.informer(LOCAL_QUEUE).all()
        flavors, checks = self._view.informer(FLAVOR).all(), self._view.informer(ADMISSION_CHECK).all()
        known = Known.of(flavors, checks, self._core.inactive())
        facts = await in_slices(self._core.facts())
        counts = await in_slices(tally(queues, local_queues, known, self._counts, facts))
        self._report.update(counts)
        stamp, time_slice = self._writer.stamp(), Slice()
        for queue in queues:
            await time_slice.give_way()
            name = key_of(queue)[1]
            if self._core.knows(name, local=False):
                used = self._core.used(name, self._last, local=False)
                await self._write(queue, status_of(queue, counts.cluster_queues[name], stamp, used, local=False))
        for queue in local_queues:
            await time_slice.give_way()
            name = "/".join(key_of(queue))
            if self._core.knows(name, local=True):
                used = self._core.used(name, self._last, local=True)
                await self._write(queue, status_of(queue, counts.local_queues[name], stamp, used, local=True))
        for cohort in self._view.informer(COHORT).all():
            await self._write(cohort, with_share(cohort, facts.shares))
        await self._mark_and_let_go(counts)

    async def _mark_and_let_go(self, counts: QueueCounts) -> None:
        """Add and remove finalizers. Objects are read again, as their status has just been written.

        An object removed with its finalizer no longer counts as a user in the same pass, so that a script which deletes
        all objects and then creates them again does not have to wait.
        """
        queues, flavors = self._view.informer(CLUSTER_QUEUE).all(), self._view.informer(FLAVOR).all()
        checks, topologies = self._view.informer(ADMISSION_CHECK).all(), self._view.informer(TOPOLOGY).all()
        for obj in unmarked([*checks, *topologies]):
            await self._finalizers(obj, marked(obj))
        gone = await self._let_go(unheld(queues, counts.cluster_queues))
        gone = await self._let_go(unnamed([*flavors, *checks], (q for q in queues if key_of(q) not in gone)))
        await self._let_go(unnamed(topologies, (flavor for flavor in flavors if key_of(flavor) not in gone)))

    async def _let_go(self, objects: list[Object]) -> set[tuple[str, str]]:
        """Remove our finalizer; return the keys of objects that are gone as a result."""
        done = [obj for obj in objects if await self._finalizers(obj, let_go(obj))]
        return {key_of(obj) for obj in done if let_go(obj) is None}

    async def _finalizers(self, obj: Object, names: list[str] | None) -> bool:
        """Write an object's finalizers; return whether that succeeded."""
        return await self._do(obj, _FINALIZERS, partial(self._writer.metadata, obj, {"finalizers": names}))

    async def _write(self, queue: Object, status: Object) -> None:
        if status != (queue.get("status") or {}):
            await self._do(queue, _STATUS, partial(self._writer.status, queue, status))

    async def _do(self, obj: Object, what: str, write: Callable[[], Awaitable[Object]]) -> bool:
        """Call `write`; return whether that succeeded. Failed writes are retried next time, refused ones in a minute.

        Refusals of deleted objects are not kept: a new object of the same name is another one.
        """
        key, name = (what, uid_of(obj)), "/".join(filter(None, key_of(obj)))
        if self._last < self._refused.get(key, 0):
            return False
        try:
            await write()
        except (Refused, NotFound) as error:
            is_new = isinstance(error, Refused) and key not in self._refused
            log.log(logging.ERROR if is_new else logging.INFO, _NOT_WRITTEN, what, obj["kind"], name, error)
            if self._view.informer(gvk_of(obj)).by_uid(uid_of(obj)) is not None:
                self._refused[key] = self._last + REFUSED
            return False
        except StoreError as error:
            log.info(_NOT_WRITTEN, what, obj["kind"], name, error)
            self._changed = True
            return False
        self._refused.pop(key, None)
        return True
