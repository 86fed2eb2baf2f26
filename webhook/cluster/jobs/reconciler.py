"""Brings one job and its Workload one step further, again and again, until there is nothing to do."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import owner_reference
from webhook.api.snapshot.reader import MALFORMED
from webhook.api.snapshot.workload import reclaimed
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.api.kinds import MANAGED, WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter, NotLeading
from webhook.cluster.api.view import View
from webhook.cluster.jobs.actions import Actions, gives_back
from webhook.cluster.jobs.deactivated_retention import kept_for
from webhook.cluster.jobs.groups import PodGroups
from webhook.cluster.jobs.managed import (
    LOST,
    MANAGED_KINDS,
    OF_GROUP,
    OF_PARENT,
    JobKey,
    ManagedJobs,
    Opted,
    ViewOwners,
    is_followed,
    key_of_job,
    key_of_lost,
    lost_job,
)
from webhook.cluster.jobs.parents import PodParents
from webhook.cluster.jobs.pods_ready_condition import readiness
from webhook.cluster.jobs.reclaim import to_reclaim
from webhook.cluster.jobs.slice_ungater import SliceUngater, chain_of
from webhook.cluster.jobs.slices import Next, is_grown_ungated, slice_step
from webhook.cluster.jobs.start_stop import is_bigger, is_changed, is_placed
from webhook.cluster.jobs.steps import Differences, JobStep, down, gone, is_free, is_untouched, next_step, still_there
from webhook.cluster.jobs.workloads_of_jobs import JobWorkloads
from webhook.cluster.jobs.workqueue import AFTER_REFUSAL_SECONDS, NEXT_LOOK_SECONDS, POLL
from webhook.cluster.workloads.events import tell_checks
from webhook.jobs.elastic import is_elastic
from webhook.jobs.finish import finish_of
from webhook.jobs.job import Job
from webhook.jobs.owners import MAX_OWNERS, ancestors, controller_of, is_external, owned
from webhook.jobs.pod_groups import is_tracked
from webhook.jobs.pod_parents import parent_of
from webhook.jobs.read_job import read_job, suspended
from webhook.kube.condition_types import ADMITTED, EVICTED, FINISHED, PODS_READY, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import GroupVersionKind, split_api_version
from webhook.store.errors import AlreadyExists, Conflict, NotFound, Refused, Unavailable
from webhook.store.objects import Object, key_of, uid_of

log = logging.getLogger(__name__)


class Reconciler:
    """`look(key)` does at most one step, and says when to look again. Does nothing while this replica follows."""

    def __init__(
        self,
        view: View,
        writer: LeaderWriter,
        opted: Opted,
        events: EventRecorder,
        settings: QueueSettings,
    ) -> None:
        self._view, self._writer, self._events, self._settings = view, writer, events, settings
        self._managed = ManagedJobs(view, opted, settings)
        self._owners = ViewOwners(view, settings)
        self._reclaims = settings.enabled("ReclaimablePods", default=True)
        self.workloads = JobWorkloads(view, settings)
        self.actions = Actions(view, writer, events, settings)
        self._ungater = SliceUngater(view, writer)
        self._parents = PodParents(view, writer, self.actions, events, self._managed)
        self._groups = PodGroups(view, writer, self.actions, events, self._managed, settings)

    async def look(self, key: JobKey) -> float | None:
        """Do the next step for the job; give seconds until the next look, None for not before something changes."""
        try:
            return await self._look_or_read_anew(key)
        except NotLeading:  # perhaps for a moment only: who does not lead any more forgets every key
            return POLL
        except Refused as error:
            log.error("%s: %s", key, error)
            return AFTER_REFUSAL_SECONDS
        except Unavailable as error:
            log.warning("%s: %s", key, error)
            return max(POLL, error.after)

    async def _look_or_read_anew(self, key: JobKey) -> float | None:
        try:
            return await self._look(key)
        except (Conflict, NotFound, AlreadyExists):
            await self._refresh(key)
            return NEXT_LOOK_SECONDS

    async def _look(self, key: JobKey) -> float | None:
        if key.uid == OF_GROUP:
            return await self._groups.look(key.namespace, key.name)
        if key.uid == OF_PARENT:
            await self._parents.look(key)
            return None
        if key.uid == LOST:
            return await self._lost(key)
        job = self._view.informer(key.gvk).get(key.name, key.namespace)
        if job is None or uid_of(job) != key.uid:
            after = [await self._without_job(key, workload) for workload in self.workloads.of(key)]
            return min((seconds for seconds in after if seconds is not None), default=None)
        if parent_of(job) is not None:
            return None  # which tells it its group
        if chain := chain_of(job):
            await self._ungater.ungate(key.namespace, chain)
            return None
        workload, surplus = self.workloads.choose(key, job)
        described = self._managed.read(job)
        if described is None or await self._is_unnamed_child(job, described):
            return await self._not_ours(key, job, workload)
        if await self._is_owned(job):
            mine = {key_of(each): each for each in (workload, *self.workloads.of(key)) if each is not None}
            await self._of_owner(job, described, mine.values())
            return None
        if gone(job) and not described.kind.gate:
            return await self._with_leaving_job(key)
        rests = bool(described.suspended) and not still_there(job)
        for other in surplus if rests or not self.workloads.named(job) else ():
            await self.actions.drop(job, other)
        try:
            step, workload = self._next(key, job, described, workload)
            told = readiness(job, described, workload, step) if self._settings.wait_for_pods_ready else None
        except MALFORMED as error:
            self._tell_malformed(key, job, error)
            return None
        if told is not None and workload is not None:
            await self.actions.tell(workload, PODS_READY, *told)
            return NEXT_LOOK_SECONDS
        if step is JobStep.WAIT:
            return POLL
        if step is JobStep.NONE:
            if workload is not None and holds(workload, QUOTA_RESERVED) and not holds(workload, ADMITTED):
                tell_checks(self._events, (job,), workload)
            await self._ungater.ungate_of(workload)
            return await self._retire(job, workload)
        again = step is JobStep.START and not is_untouched(job)
        if (step is JobStep.STOP or again) and not described.kind.gate:  # a Pod starts once, and its end reads it
            await self._confirm(key, job, workload)
        return await self._take(step, key, job, described, workload)

    async def _take(
        self, step: JobStep, key: JobKey, job: Object, described: Job, workload: Object | None
    ) -> float | None:
        """Do the step, in which a job may turn out malformed: it makes the Workload, and puts it on its flavors."""
        try:
            await self.actions.take(step, job, described, workload)
        except MALFORMED as error:
            self._tell_malformed(key, job, error)
            return AFTER_REFUSAL_SECONDS
        return POLL if workload is not None and gives_back(step, workload) else NEXT_LOOK_SECONDS

    def _tell_malformed(self, key: JobKey, job: Object, error: Exception) -> None:
        log.error("%s is malformed and is skipped: %r", key, error)
        self.actions.tell_refused((job,), f"the job cannot be read: {error!r}")

    async def _confirm(self, key: JobKey, job: Object, workload: Object | None) -> None:
        """Raise Conflict where a job is to be stopped, or started again, by an old view of its Workload.

        While two replicas lead, or one has just begun to, the job may run by an admission that the watch of Workloads
        has not told of yet, or stand still by an eviction.
        """
        if workload is not None:
            await self._writer.confirm(workload)
        elif name := self.workloads.named(job):
            await self._writer.refresh(WORKLOAD, key.namespace, name)
            if self.workloads.choose(key, job)[0] is not None:
                raise Conflict(f"Workload {key.namespace}/{name} is there now")

    def _next(self, key: JobKey, job: Object, described: Job, workload: Object | None) -> Next:
        """Return the next step, and the Workload that it is about.

        Raises what reading a malformed job does: custom kinds may hold anything.
        """
        lacks = self.actions.lacks_class(job, described)
        if is_free(job, workload):
            return JobStep.FREE, workload
        if self.workloads.named(job) and (step := self._of_prebuilt(job, described, workload)) is not None:
            return step, workload
        if is_elastic(job) and not self.workloads.named(job):
            mine = self.workloads.of(key)
            if ended := [w for w in mine if holds(w, FINISHED) and is_marked(w)]:
                return JobStep.LET_GO, ended[0]
            live = [w for w in mine if not holds(w, FINISHED)]
            step, about = slice_step(job, described, live, lambda w: self._differences(job, described, w, lacks))
            return (JobStep.NONE, None) if lacks and about is None else (step, about)
        if workload is None:
            return JobStep.NONE if lacks else next_step(job, described, None, Differences()), None
        return next_step(job, described, workload, self._differences(job, described, workload, lacks)), workload

    def _of_prebuilt(self, job: Object, described: Job, workload: Object | None) -> JobStep | None:
        """Return the step of a job that names its Workload, None where it goes on as any other."""
        if finish_of(job) is not None:
            return JobStep.NONE if workload is None else None
        if workload is None:
            return JobStep.NONE if suspended(job, described.kind) else JobStep.STOP
        if controller_of(workload) is None:
            return JobStep.ADOPT
        if holds(workload, FINISHED):
            return None
        exceeds = holds(workload, QUOTA_RESERVED) and is_bigger(described, workload)
        if exceeds or not self.actions.drafts.fits(job, described, workload):
            stopped = described.kind.gate or suspended(job, described.kind)
            return down(job, workload, bool(stopped), Differences(templates=is_placed(job)), JobStep.REJECT)
        return None

    def _differences(self, job: Object, described: Job, workload: Object, lacks: bool) -> Differences:
        waits, evicted = not holds(workload, QUOTA_RESERVED), holds(workload, EVICTED)
        own = self.workloads.named(job) is None  # else `_of_prebuilt` compares the sizes
        outgrows = is_grown_ungated if is_elastic(job) else is_bigger
        bigger = own and not waits and outgrows(described, workload)
        could_be_edited = own and not waits and not evicted and suspended(job, described.kind)
        if could_be_edited:
            bigger = bigger or self.actions.drafts.has_bigger_pods(job, described, workload)
        # Others get their priority with the rest of the spec.
        ranked = not lacks and (not own or not waits or is_elastic(job))
        return Differences(
            spec=waits and not lacks and self.actions.drafts.is_other(job, described, workload),
            priority=ranked and bool(self.actions.drafts.priority_change(job, described, workload)),
            checks=not waits and self.actions.has_other_checks(workload),
            reclaimable=self._reclaims and to_reclaim(job, described, workload) != reclaimed(workload),
            bigger=bigger,
            templates=is_placed(job) or (not waits and evicted and is_changed(described, workload)),
        )

    async def _retire(self, job: Object, workload: Object | None) -> float | None:
        """Delete a job whose Workload the queue deactivated long enough ago; give the seconds until then."""
        retention = self._settings.retention.after_deactivated
        left = kept_for(workload, retention, self._writer.stamp()) if workload is not None else None
        if left == 0:
            await self.actions.remove(job)
        return left or None

    async def _not_ours(self, key: JobKey, job: Object, workload: Object | None) -> float | None:
        """See to an object that no queue holds: a child that runs too early, and what is left of a Workload of its own.

        A Pod that was not gated here (it was Kueue's before) is not in the view; its Workload ends with it.
        """
        if is_free(job, workload):
            await self.actions.pods.free(job)
        if not is_followed(job):
            ends = workload is not None and (gone(workload) or not holds(workload, FINISHED))
            return await self._without_job(key, workload) if ends else None
        for each in self.workloads.of(key):
            await self._left(job, each)
        described = read_job(job)
        runs = described is not None and described.kind.suspend_path is not None and described.suspended is False
        if described is not None and runs and await self._is_early(job):
            await self.actions.suspend_child(job, described)
        elif finish_of(job) is None and not runs and not gone(job) and (lacks := self._managed.lacks_pods(job)):
            self.actions.tell_refused((job,), lacks)
        return None

    async def _left(self, job: Object, workload: Object) -> None:
        """Take back what a Workload holds whose job left its queue: nobody would start, stop or end the job by it."""
        if holds(workload, FINISHED):
            await self.actions.let_go(workload)
        elif (finish := finish_of(job)) is not None:
            await self.actions.finish(job, workload, finish)
        elif self._managed.read_owner(job) is None and _is_in_vain(job, workload):
            await self.actions.drop(job, workload)

    async def _is_early(self, job: Object) -> bool:
        """Return whether an object runs as part of a job that a queue holds, and has not admitted."""
        if finish_of(job) is not None or await self._is_owned(job):
            return False
        above, unknown = ancestors(job, key_of(job)[0], self._owners)
        if unknown is not None or not any(map(self._holds, above)):
            return False
        for owner in above:
            its = key_of_job(owner)
            await self._confirm(its, owner, self.workloads.choose(its, owner)[0])
        return True

    def _holds(self, owner: Object) -> bool:
        return is_external(owner, self._owners) or self._managed.read_owner(owner) is not None

    async def _is_unnamed_child(self, job: Object, described: Job) -> bool:
        """Return whether a job that names no queue is part of one that a queue holds, and so waits with it."""
        if described.queue or self.workloads.named(job) or controller_of(job) is None:
            return False
        await self._is_owned(job)  # which asks for owners that are not in view yet
        above, _ = ancestors(job, key_of(job)[0], self._owners)
        return any(map(self._holds, above))

    async def _without_job(self, key: JobKey, workload: Object | None) -> float | None:
        """See to a Workload whose job is gone: not only from our view, which may be behind, but from the store."""
        if workload is None or not self._view.follows(key.gvk):
            return None
        job = await self._writer.refresh(key.gvk, key.namespace, key.name)
        if job is not None and uid_of(job) == key.uid:
            if is_followed(job):
                return POLL
            if (finish := finish_of(job)) is None:
                return AFTER_REFUSAL_SECONDS
            await self.actions.finish(job, workload, finish)
            return None
        return None if await self.actions.orphan(workload, key.uid) else POLL

    async def _lost(self, key: JobKey) -> float | None:
        """Restore the reference of a Workload to its job, or end it: nobody else would, and its quota stays held."""
        workload = self._view.informer(WORKLOAD).get(key.name, key.namespace)
        if workload is None or key_of_lost(workload) is None:
            return None
        uid = lost_job(workload)
        job = self._view.by_uid(uid, MANAGED)
        if job is not None and not gone(job):
            await self._writer.metadata(workload, {"ownerReferences": [owner_reference(job)]})
            return None
        if holds(workload, FINISHED):
            return None
        return None if await self.actions.orphan(workload, uid) else POLL

    async def _with_leaving_job(self, key: JobKey) -> float | None:
        """Release what a job holds that is being deleted, once its pods are gone: others may hold the job itself."""
        left = False
        for workload in self.workloads.of(key):
            if not holds(workload, FINISHED):
                left |= not await self.actions.orphan(workload, key.uid)
        return POLL if left else None

    async def _of_owner(self, job: Object, described: Job, workloads: Iterable[Object]) -> None:
        """Leave to its owner what was held or queued by itself while its owner was not known, or not admitted."""
        if described.kind.gate and described.suspended:
            await self.actions.pods.ungate(job, described)
        elif is_tracked(job):
            await self.actions.pods.free(job)
        for workload in workloads:
            await self.actions.discard(workload)

    async def _is_owned(self, job: Object) -> bool:
        """Return whether the job is part of one that a queue looks at; an owner that is not in view is asked for."""
        namespace, _ = key_of(job)
        for _ in range(MAX_OWNERS):
            above, unknown = ancestors(job, namespace, self._owners)
            if len(above) >= MAX_OWNERS:
                note = f"the job has more than {MAX_OWNERS} owners above each other; those beyond are not looked at"
                self._events.tell(job, "JobNestingTooDeep", note, warning=True)
            if unknown is None:
                break
            group, version = split_api_version(str(unknown.get("apiVersion")))
            gvk = GroupVersionKind(group, version, str(unknown.get("kind")))
            if (group, gvk.kind) not in MANAGED_KINDS:
                break
            owner = await self._writer.refresh(gvk, namespace, str(unknown.get("name")))
            if owner is None or uid_of(owner) != unknown.get("uid"):
                break
        return owned(job, namespace, self._owners, self._managed.read_owner)

    async def _refresh(self, key: JobKey) -> None:
        if key.uid == OF_GROUP:
            await self._groups.refresh(key.namespace, key.name)
            return
        if key.uid == OF_PARENT:
            await self._parents.refresh(key)
            return
        job = await self._writer.refresh(key.gvk, key.namespace, key.name)
        if key.uid == LOST:
            return
        named = self.workloads.choose(key, job)[0] if job is not None else None
        for workload in (*self.workloads.of(key), *((named,) if named else ())):
            await self._writer.refresh_workload(workload)


def _is_in_vain(job: Object, workload: Object) -> bool:
    """Return whether a Workload is of no use to a job that no queue holds: the job rests, or the quota is wanted back.

    What waits in a namespace that has not opted in stays: the core does not admit it, and says why.
    """
    described = read_job(job)
    if described is None:
        return False
    if not suspended(job, described.kind):
        return gone(workload) or holds(workload, EVICTED)
    waits = bool(described.queue) and not holds(workload, QUOTA_RESERVED) and not gone(workload)
    return not waits and not still_there(job)
