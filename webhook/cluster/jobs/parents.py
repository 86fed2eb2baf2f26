"""Objects whose pods are queued in groups that they say beforehand: makes the Workload of each, and tells pods theirs.

From then on the pods and their Workload are a group as any other (`groups.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from webhook.api.job_to_workload import shared_reference, workload_name
from webhook.api.snapshot.workload import is_on_hold
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.jobs.actions import Actions
from webhook.cluster.jobs.managed import GROUP_INDEX, IS_GROUP, OWNER_KIND, OWNER_NAME, JobKey, ManagedJobs
from webhook.cluster.jobs.steps import JobStep, gone
from webhook.cluster.workloads.conditions import EVALUATION, NO_HOLD, without_quota
from webhook.jobs.elastic import annotation
from webhook.jobs.job import Job
from webhook.jobs.pod_groups import group_of, is_over, is_running, waits
from webhook.jobs.pod_parents import PodGroup, groups_of, is_left, joined
from webhook.jobs.read_job import read_job
from webhook.kube.condition_types import ADMITTED, FINISHED, ON_HOLD, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.fields import at
from webhook.kube.gvk import POD
from webhook.store.objects import Object, key_of, uid_of

log = logging.getLogger(__name__)


class PodParents:
    """`look` brings the Workloads and the pods of one object to what the object says now."""

    def __init__(
        self, view: View, writer: LeaderWriter, actions: Actions, events: EventRecorder, managed: ManagedJobs
    ) -> None:
        self._view, self._writer, self._actions, self._events = view, writer, actions, events
        self._managed = managed

    async def look(self, key: JobKey) -> None:
        """See to one object. Raises StoreError; what was done by then is not done again."""
        parent = self._view.informer(key.gvk).get(key.name, key.namespace)
        described = None if parent is None or gone(parent) else self._managed.read_parent(parent)
        if parent is None or described is None:
            return
        pods = self._pods(key)
        groups = {self._name(parent, group.index): group for group in groups_of(parent, described)}
        for name, group in groups.items():
            await self._keep(parent, replace(described, pod_sets=group.pod_sets), name, group)
        for workload in self._workloads(parent):
            if key_of(workload)[1] not in groups:
                await self._give_up(parent, workload, [pod for pod in pods if group_of(pod) == key_of(workload)[1]])
        for pod in pods:
            if not (gone(pod) or is_over(pod)):
                await self._join(parent, described, pod)

    async def refresh(self, key: JobKey) -> None:
        """Read an object, its pods and its Workloads from the store itself."""
        parent = await self._writer.refresh(key.gvk, key.namespace, key.name)
        for pod in self._pods(key):
            await self._writer.refresh(POD, *key_of(pod))
        for workload in self._workloads(parent) if parent is not None else ():
            await self._writer.refresh_workload(workload)

    def _name(self, parent: Object, index: str) -> str:
        """Name the Workload of a group: as Kueue does, or as an older Kueue has named one that is there."""
        metadata, group = parent["metadata"], parent["apiVersion"].rpartition("/")[0]
        name = f"{metadata['name']}-{index}" if index else metadata["name"]
        usual, old = (workload_name(parent["kind"], group, name, uid) for uid in (uid_of(parent), ""))
        informer, namespace = self._view.informer(WORKLOAD), key_of(parent)[0]
        if (
            informer.get(usual, namespace) is None
            and annotation(informer.get(old, namespace) or {}, IS_GROUP) == "true"
        ):
            return old
        return usual

    def _pods(self, key: JobKey) -> list[Object]:
        return self._view.informer(POD).of(key.namespace, (key.gvk.kind, key.name))

    def _workloads(self, parent: Object) -> list[Object]:
        return self._view.informer(WORKLOAD).of(key_of(parent)[0], uid_of(parent))

    async def _keep(self, parent: Object, described: Job, name: str, group: PodGroup) -> None:
        """See to the Workload of a group: it is there, owned, in the right queue, and on hold no more."""
        workload = self._view.informer(WORKLOAD).get(name, key_of(parent)[0])
        if workload is None:
            if not self._actions.lacks_class(parent, described):
                await self._actions.create_group(parent, described, name, (parent,), _marks(parent, group))
            return
        if annotation(workload, IS_GROUP) != "true" or gone(workload) or holds(workload, FINISHED):
            return
        if not _is_owned(workload, parent):
            references = [*(workload["metadata"].get("ownerReferences") or ()), shared_reference(parent)]
            fields = {"ownerReferences": references, "annotations": _marks(parent, group)}
            workload = await self._writer.metadata(workload, fields)
        if is_on_hold(workload):
            status = without_quota(workload, EVALUATION, NO_HOLD, self._writer.stamp())
            workload = await self._writer.status(workload, status)
        if holds(workload, QUOTA_RESERVED):
            if self._actions.drafts.priority_change(parent, described, workload):
                await self._actions.take(JobStep.REPRIORITIZE, parent, described, workload)
        elif self._actions.drafts.is_other(parent, described, workload):
            draft, _ = self._actions.drafts.of(parent, described)
            await self._writer.replace(self._actions.drafts.renewed(workload, draft))

    async def _give_up(self, parent: Object, workload: Object, pods: Iterable[Object]) -> None:
        """See to a Workload whose group is asked for no more, when its pods are gone.

        That of the only group of an object stays, on hold, for the day that it is scaled up.
        """
        if any(is_running(pod) for pod in pods) or holds(workload, FINISHED):
            return
        if annotation(workload, GROUP_INDEX):
            await self._actions.drop(parent, workload)
        elif not is_on_hold(workload):
            message = f"{parent['kind']} scaled to zero; workload on hold"
            await self._writer.status(workload, without_quota(workload, ON_HOLD, message, self._writer.stamp()))

    async def _join(self, parent: Object, described: Job, pod: Object) -> None:
        """Tell a pod its group; or let it go, where a roll-out waits for it in its old place, which has quota."""
        fields = joined(pod, parent, described, lambda index: self._name(parent, index))
        if fields:
            pod = await self._writer.metadata(pod, fields)
        workload = self._view.informer(WORKLOAD).get(group_of(pod), key_of(pod)[0])
        of_pod = read_job(pod)
        if of_pod is None or workload is None or not holds(workload, ADMITTED):
            return
        if is_left(pod, parent) and waits(pod):
            await self._actions.pods.ungate(pod, of_pod)


def _is_owned(workload: Object, parent: Object) -> bool:
    owners = at(workload, ("metadata", "ownerReferences")) or ()
    return any(owner.get("uid") == uid_of(parent) for owner in owners)


def _marks(parent: Object, group: PodGroup) -> dict[str, str]:
    kind = f"{parent['apiVersion']}, Kind={parent['kind']}"
    marks = {OWNER_KIND: kind, OWNER_NAME: parent["metadata"]["name"]}
    return {**marks, GROUP_INDEX: group.index} if group.index else marks
