"""The steps of `steps.py`, done: each is one or two writes with a precondition."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import JOB_UID_LABEL, owner_reference, shared_reference
from webhook.api.snapshot.workload import GATE
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.finalizers import finalizers, is_marked, let_go, marked
from webhook.cluster.api.kinds import CLUSTER_QUEUE, FLAVOR, WORKLOAD_CLASS
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.jobs.drafts import Drafts
from webhook.cluster.jobs.managed import IS_GROUP
from webhook.cluster.jobs.pod_actions import PodActions
from webhook.cluster.jobs.reclaim import to_reclaim
from webhook.cluster.jobs.running_pods import owned_pods
from webhook.cluster.jobs.start_stop import FlavorNotFound, PlacementConflict, restored, started, stopped, suspend
from webhook.cluster.jobs.steps import DIGEST, JobStep
from webhook.cluster.workloads import conditions as workload_conditions
from webhook.cluster.workloads.conditions import EVALUATION, NO_HOLD, WAITING
from webhook.jobs.elastic import annotation
from webhook.jobs.finish import Finish, finish_of
from webhook.jobs.job import Job
from webhook.jobs.read_job import suspended
from webhook.kube.condition_types import ADMITTED, EVICTED, FINISHED, ON_HOLD, QUOTA_RESERVED
from webhook.kube.conditions import conditions_of, find, holds, with_condition
from webhook.kube.fields import at
from webhook.kube.gvk import POD, GroupVersionKind, split_api_version
from webhook.store.errors import Conflict, NotFound, Refused
from webhook.store.objects import Object, key_of, uid_of

log = logging.getLogger(__name__)

NOT_COMPOSED: Final = "ErrWorkloadCompose"
"""Why an Event tells that a job has no Workload, or an old one."""
NOT_STARTED: Final = "FailedToStart"
"""Why a job that is admitted does not start, or never will."""


_GIVES_BACK: Final = frozenset({JobStep.RELEASE, JobStep.OUTGROWN, JobStep.REJECT, JobStep.LET_GO, JobStep.HOLD})


def gives_back(step: JobStep, workload: Object) -> bool:
    """Return whether a step gives back quota that pods of the job may still use: it has to wait for their end."""
    return step in _GIVES_BACK and holds(workload, QUOTA_RESERVED) and not holds(workload, FINISHED)


class Actions:
    """Does one step for one job."""

    def __init__(self, view: View, writer: LeaderWriter, events: EventRecorder, settings: QueueSettings) -> None:
        self._view, self._writer, self._events = view, writer, events
        self.drafts = Drafts(view, settings)
        self._labels_queues = settings.enabled("AssignQueueLabelsForPods", default=True)
        self._ends_with_pod = settings.enabled("SkipReassignmentForPodOwnedWorkloads", default=True)
        self.pods = PodActions(writer, events)

    def lacks_class(self, job: Object, described: Job) -> bool:
        """Return whether the job names a WorkloadPriorityClass that does not exist; if so, it is told."""
        name = described.priority_class
        if not name or self._view.informer(WORKLOAD_CLASS).get(name) is not None:
            return False
        note = f'WorkloadPriorityClass "{name}" not found'
        self._events.tell(job, "WorkloadPriorityClassNotFound", note, warning=True)
        return True

    def has_other_checks(self, workload: Object) -> bool:
        """Return whether the ClusterQueue asks for other checks than the Workload has entries for."""
        return bool(self._checks(workload))

    def _checks(self, workload: Object) -> dict[str, Any]:
        admission = at(workload, ("status", "admission")) or {}
        queue = self._view.informer(CLUSTER_QUEUE).get(str(admission.get("clusterQueue")))
        return workload_conditions.with_checks(workload, queue, admission, self._writer.stamp()) if queue else {}

    async def create_group(
        self, obj: Object, described: Job, name: str, owners: Sequence[Object], marks: Mapping[str, str]
    ) -> None:
        """Create the Workload of a group of pods, made of one object and owned by several. Raises StoreError."""
        draft, _ = self.drafts.of(obj, described)
        metadata = {
            **draft["metadata"],
            "name": name,
            "annotations": {**draft["metadata"]["annotations"], **marks, IS_GROUP: "true"},
            "ownerReferences": [shared_reference(owner) for owner in owners],
        }
        await self._create({**draft, "metadata": metadata}, *owners)

    async def _create(self, workload: Object, *owners: Object) -> None:
        """Create a Workload. Raises StoreError; what the API server refuses is told, as nothing else would show it."""
        try:
            created = await self._writer.create(workload)
        except Refused as error:
            self.tell_refused(owners, str(error))
            raise
        for owner in owners:
            self._events.tell(owner, "CreatedWorkload", f"Created Workload: {_name(created)}")

    def tell_refused(self, owners: Iterable[Object], why: str) -> None:
        """Tell those whom a Workload would belong to why they have none, or an old one."""
        for owner in owners:
            self._events.tell(owner, NOT_COMPOSED, why, warning=True)

    async def _resize(self, job: Object, described: Job, workload: Object) -> None:
        """Set the pod counts of a Workload to those of its elastic job."""
        draft, digest = self.drafts.of_grown(job, described, workload)
        counts = {pods["name"]: pods["count"] for pods in draft["spec"]["podSets"]}
        pod_sets = [{**pods, "count": counts.get(pods["name"], 0)} for pods in workload["spec"]["podSets"]]
        metadata = workload["metadata"]
        marked = {**metadata, "annotations": {**(metadata.get("annotations") or {}), DIGEST: digest}}
        await self._writer.replace({**workload, "metadata": marked, "spec": {**workload["spec"], "podSets": pod_sets}})

    async def take(self, step: JobStep, job: Object, described: Job, workload: Object | None) -> None:
        """Do a step. Raises StoreError; Conflict where job or Workload have changed since they were read."""
        log.info("%s %s: %s", job["kind"], "/".join(key_of(job)), step.value)
        if step in (JobStep.CREATE, JobStep.GROW):
            await self._create(self.drafts.to_create(job, described, workload), job)
        elif step is JobStep.START and workload is not None:
            await self._start(job, described, workload)
        elif step is JobStep.FREE:
            await self.pods.free(job)
        elif step is JobStep.STOP and not described.kind.gate:
            await self._writer.replace(stopped(job, described, workload))
            if not suspended(job, described.kind):
                self._events.tell(job, "Stopped", _why_stopped(workload))
        elif step is JobStep.STOP and workload is not None and suspended(job, described.kind):
            await self.pods.hold(job, workload)
        elif step is JobStep.STOP and workload is not None:
            await self.pods.end(job, workload)
        elif workload is not None and not (gives_back(step, workload) and await self.pods_left(workload, uid_of(job))):
            await self._change(step, job, described, workload)

    async def tell(self, workload: Object, condition: str, status: bool, reason: str, message: str) -> None:
        """Write a condition of a Workload."""
        now, generation = self._writer.stamp(), int(workload["metadata"].get("generation") or 0)
        rows = with_condition(conditions_of(workload), condition, status, reason, message, now, generation)
        await self._writer.status(workload, {**(workload.get("status") or {}), "conditions": rows})

    async def _change(self, step: JobStep, job: Object, described: Job, workload: Object) -> None:
        if step is JobStep.RENEW:
            await self._update(job, described, workload)
        elif step is JobStep.ADOPT:
            await self._adopt(job, workload)
        elif step is JobStep.REJECT:
            message = "The prebuilt workload is out of sync with its user job"
            await self.finish(job, workload, Finish("OutOfSync", message))
        elif step is JobStep.RESIZE:
            await self._resize(job, described, workload)
        elif step is JobStep.REPLACED:
            message = "Replaced to accommodate a new workload slice"
            await self.finish(job, workload, Finish(workload_conditions.REPLACED, message))
        elif step is JobStep.OBSOLETE:
            message = "The workload slice is out of sync with its parent job"
            await self.finish(job, workload, Finish("OutOfSync", message))
        elif step is JobStep.OUTGROWN:
            await self.drop(job, workload)
        elif step is JobStep.RECLAIM:
            rows = [{"name": name, "count": count} for name, count in to_reclaim(job, described, workload).items()]
            await self._writer.status(workload, {**(workload.get("status") or {}), "reclaimablePods": rows or None})
        elif step is JobStep.REPRIORITIZE:
            change = self.drafts.priority_change(job, described, workload)
            await self._writer.replace({**workload, "spec": {**workload["spec"], **change}})
            self._events.tell(job, "UpdatedWorkload", f"Updated workload priority class: {_name(workload)}")
        elif step is JobStep.ASK:
            await self._writer.status(workload, {**workload["status"], **self._checks(workload)})
        elif step is JobStep.RESTORE:
            await self._restore(job, described, workload)
        elif step is JobStep.HOLD:
            status = workload_conditions.without_quota(workload, ON_HOLD, "Job is on hold", self._writer.stamp())
            await self._writer.status(workload, status)
        elif step is JobStep.RESUME:
            status = workload_conditions.without_quota(workload, EVALUATION, NO_HOLD, self._writer.stamp())
            await self._writer.status(workload, status)
        elif step in (JobStep.RELEASE, JobStep.WITHDRAW):
            again = not (described.kind.gate and self._ends_with_pod)
            status = workload_conditions.released(workload, self._writer.stamp(), again=again)
            await self._writer.status(workload, status)
        elif step is JobStep.FINISH and (finish := finish_of(job)) is not None:
            await self.finish(job, workload, finish)
        elif step is JobStep.LET_GO:
            await self.let_go(workload)

    async def _start(self, job: Object, described: Job, workload: Object) -> None:
        """Start a job on its flavors; where its checks contradict them or the job, that is the end of its Workload."""
        workload = await self.settle(workload)
        try:
            new = self.placed(job, described, workload)
        except PlacementConflict as error:
            await self.finish(job, workload, Finish(NOT_STARTED, str(error)))
            return
        if described.kind.runtime is not None:  # its webhook refuses a patch of one that is not suspended
            new = suspend(await self._writer.replace(suspend(new, described, True)), described, False)
        await self._writer.replace(new)
        queue = at(workload, ("status", "admission", "clusterQueue"))
        self._events.tell(job, "Started", f"Admitted by clusterQueue {queue}")

    def placed(self, job: Object, described: Job, workload: Object, *, marked: bool = False) -> Object:
        """Return the job as its start writes it (`started`). Raises PlacementConflict; FlavorNotFound, which is told.

        Kueue fails the start as well, and tries it again (getPodSetsInfoFromStatus in pkg/controller/jobframework).
        """
        flavors = self._view.informer(FLAVOR).by_name()
        try:
            return started(job, described, workload, flavors, marked=marked, labelled=self._labels_queues)
        except FlavorNotFound as error:
            self._events.tell(job, NOT_STARTED, str(error), warning=True)
            raise

    async def _adopt(self, job: Object, workload: Object) -> None:
        """Make the job the controller of a Workload that somebody else made for it."""
        fields = {
            "ownerReferences": [*(workload["metadata"].get("ownerReferences") or ()), owner_reference(job)],
            "labels": {JOB_UID_LABEL: uid_of(job)},
            "finalizers": finalizers(workload) if is_marked(workload) else marked(workload),
        }
        await self._writer.metadata(workload, fields)

    async def settle(self, workload: Object) -> Object:
        """Take away what an admitted Workload waited for, before its pods go: nobody sees one that waits and runs."""
        if find(workload, WAITING) is None:
            return workload
        return await self._writer.status(workload, workload_conditions.settled(workload))

    async def suspend_child(self, job: Object, described: Job) -> None:
        """Suspend a job that started before the one above it was admitted."""
        await self._writer.replace(suspend(job, described, True))
        self._events.tell(job, "Suspended", "Kueue managed child job suspended")

    async def finish(self, job: Object, workload: Object, finish: Finish) -> None:
        """Write that a Workload has ended, and let it go."""
        status = workload_conditions.finished(workload, finish, self._writer.stamp())
        written = await self._writer.status(workload, status)
        self._events.tell(job, "FinishedWorkload", f"Workload '{_name(workload)}' is declared finished")
        await self.let_go(written)

    async def drop(self, job: Object, workload: Object) -> None:
        """Delete a Workload that is not the job's, or not any more."""
        await self.discard(workload)
        self._events.tell(job, "DeletedWorkload", f"Deleted not matching Workload: {_name(workload)}")

    async def remove(self, job: Object) -> None:
        """Delete a job that the queue has given up."""
        await self._writer.delete(job)
        self._events.tell(job, "Deleted", "Deleted job: deactivation retention period expired")

    async def let_go(self, workload: Object) -> None:
        """Take our finalizer off a Workload."""
        if is_marked(workload):
            await self._writer.metadata(workload, {"finalizers": let_go(workload)})

    async def pods_left(self, workload: Object, job_uid: str) -> int:
        """Count the pods of a job that still run, by asking the store: what the job's status says may be old."""
        pods = (await self._view.store.list(POD, key_of(workload)[0])).items
        return owned_pods(pods, job_uid, workload, self._owner_of)

    def _owner_of(self, reference: Object) -> Object | None:
        """Return the job object of an ownerReference, None where it is not in view."""
        group, version = split_api_version(str(reference.get("apiVersion") or ""))
        gvk = GroupVersionKind(group, version, str(reference.get("kind") or ""))
        return self._view.informer(gvk).by_uid(str(reference.get("uid"))) if self._view.follows(gvk) else None

    async def orphan(self, workload: Object, job_uid: str) -> bool:
        """Release the quota of a job that was deleted, once its pods are gone; return whether that is done.

        The Workload ends, and the garbage collector takes it away with its owner.
        """
        if await self.pods_left(workload, job_uid):
            return False
        if not holds(workload, FINISHED) and not at(workload, ("metadata", "deletionTimestamp")):
            finish = Finish("OwnerNotFound", "The workload's owner no longer exists")
            status = workload_conditions.finished(workload, finish, self._writer.stamp())
            workload = await self._writer.status(workload, status)
        await self.let_go(workload)
        return True

    async def discard(self, workload: Object) -> None:
        """Delete a Workload, and the quota it may hold with it."""
        await self.let_go(workload)
        if not at(workload, ("metadata", "deletionTimestamp")):
            with suppress(NotFound, Conflict):  # the garbage collector was quicker
                await self._writer.delete(workload)

    async def _update(self, job: Object, described: Job, workload: Object) -> None:
        """Write a Workload as its job would get it now, and tell of it."""
        draft, _ = self.drafts.of(job, described)
        try:
            await self._writer.replace(self.drafts.renewed(workload, draft))
        except Refused as error:
            self.tell_refused((job,), str(error))
            raise
        if (gate := annotation(draft, GATE)) != annotation(workload, GATE):
            self._events.tell(job, "UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{gate}"')
        else:
            note = _name(workload)
            self._events.tell(job, "UpdatedWorkload", f"Updated not matching Workload for suspended job: {note}")

    async def _restore(self, job: Object, described: Job, workload: Object) -> None:
        """Put the templates back. A Job's startTime goes first: its template may only change while it has none."""
        if job["kind"] == "Job" and at(job, ("status", "startTime")):
            job = await self._writer.status(job, {"startTime": None})
        await self._writer.replace(restored(job, described, workload))


def _name(workload: Object) -> str:
    return "/".join(key_of(workload))


def _why_stopped(workload: Object | None) -> str:
    if workload is None:
        return "missing workload"
    if at(workload, ("metadata", "deletionTimestamp")):
        return "Workload is deleted"
    if holds(workload, EVICTED):
        return str((find(workload, EVICTED) or {}).get("message") or "")
    if holds(workload, ADMITTED):
        return "No matching Workload; restoring pod templates according to existent Workload"
    return "Not admitted by cluster queue"
