"""Brings one job and its Workload one step further, again and again, until there is nothing to do."""

from __future__ import annotations

import logging
from typing import Final

from webhook.api.snapshot import MALFORMED
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter, NotLeading
from webhook.cluster.jobs.actions import Actions
from webhook.cluster.jobs.managed import (
    MANAGED_KINDS,
    JobKey,
    Opted,
    ViewOwners,
    as_managed,
    workload_of_key,
)
from webhook.cluster.jobs.placement import is_changed
from webhook.cluster.jobs.steps import JobStep, gone, next_step
from webhook.cluster.queues.conditions import EVICTED, QUOTA_RESERVED, holds
from webhook.jobs.model import Job
from webhook.jobs.owners import DEPTH, ancestors, owned
from webhook.kube.gvk import GroupVersionKind, split_api_version
from webhook.store.errors import AlreadyExists, Conflict, NotFound, Refused, Unavailable
from webhook.store.objects import Object, key_of, uid_of

log = logging.getLogger(__name__)

SOON: Final = 0.05
POLL: Final = 1.0
"""Seconds between two looks at pods that have to end."""
LATER: Final = 30.0
"""Seconds until a write that the API server refused is tried again: something must change first."""
NOT_TIDY: Final = frozenset({JobStep.NONE, JobStep.WAIT})


class Reconciler:
    """`look(key)` does at most one step, and says when to look again. Does nothing while this replica follows."""

    def __init__(self, view: View, writer: LeaderWriter, opted: Opted) -> None:
        self._view, self._writer, self._opted = view, writer, opted
        self._owners = ViewOwners(view)
        self.actions = Actions(view, writer)

    async def look(self, key: JobKey) -> float | None:
        """Do the next step for the job; give seconds until the next look, None for not before something changes."""
        try:
            return await self._look(key)
        except NotLeading:
            return None
        except (Conflict, NotFound, AlreadyExists):
            await self._refresh(key)
            return SOON
        except Refused as error:
            log.error("%s: %s", key, error)
            return LATER
        except Unavailable as error:
            log.warning("%s: %s", key, error)
            return max(POLL, error.after)

    async def _look(self, key: JobKey) -> float | None:
        job = self._view.mirror(key.gvk).get(key.name, key.namespace)
        workload = workload_of_key(self._view, key)
        if job is None or uid_of(job) != key.uid:
            return await self._without_job(key, workload)
        described = as_managed(job, self._view, self._opted)
        if described is None:
            return await self._not_ours(key, workload)
        if await self._is_owned(job):
            await self._of_owner(job, described, workload)
            return None
        try:
            step = self._next(job, described, workload)
        except MALFORMED as error:
            log.error("%s is malformed, and left as it is: %r", key, error)
            return None
        if step is JobStep.WAIT:
            return POLL
        if step is JobStep.NONE:
            return None
        await self.actions.take(step, job, described, workload)
        return POLL if step is JobStep.RELEASE else SOON

    def _next(self, job: Object, described: Job, workload: Object | None) -> JobStep:
        """Give the next step. Raises what reading a malformed job does: custom kinds may hold anything."""
        waits = workload is None or not holds(workload, QUOTA_RESERVED)
        digest = self.actions.draft(job, described)[1] if waits else ""
        changed = workload is not None and holds(workload, EVICTED) and is_changed(described, workload)
        return next_step(job, described, workload, digest, changed)

    async def _not_ours(self, key: JobKey, workload: Object | None) -> float | None:
        """See to the Workload of an object that no queue holds any more, once the Workload is being deleted."""
        return await self._without_job(key, workload) if workload is not None and gone(workload) else None

    async def _without_job(self, key: JobKey, workload: Object | None) -> float | None:
        """See to a Workload whose job is gone: not only from our view, which may be behind, but from the store."""
        if workload is None or not self._view.follows(key.gvk):
            return None
        job = await self._writer.refresh(key.gvk, key.namespace, key.name)
        if job is not None and uid_of(job) == key.uid:
            return POLL
        return None if await self.actions.orphan(workload, key.uid) else POLL

    async def _of_owner(self, job: Object, described: Job, workload: Object | None) -> None:
        """Leave to its owner what was held or queued by itself while its owner was not known, or not admitted."""
        if described.kind.gate and described.suspended:
            await self.actions.ungate(job, described)
        if workload is not None:
            await self.actions.discard(workload)

    async def _is_owned(self, job: Object) -> bool:
        """Say whether the job is part of one that a queue looks at; an owner that is not in view yet is asked for."""
        namespace, _ = key_of(job)
        for _ in range(DEPTH):
            _, unknown = ancestors(job, namespace, self._owners)
            if unknown is None:
                break
            group, version = split_api_version(str(unknown.get("apiVersion")))
            gvk = GroupVersionKind(group, version, str(unknown.get("kind")))
            if (group, gvk.kind) not in MANAGED_KINDS:
                break
            owner = await self._writer.refresh(gvk, namespace, str(unknown.get("name")))
            if owner is None or uid_of(owner) != unknown.get("uid"):
                break
        return owned(job, namespace, self._owners)

    async def _refresh(self, key: JobKey) -> None:
        await self._writer.refresh(key.gvk, key.namespace, key.name)
        workload = workload_of_key(self._view, key)
        if workload is not None:
            await self._writer.refresh_workload(workload)
