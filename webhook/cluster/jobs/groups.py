"""Does the steps of `group_steps.py` for one group of plain pods."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import shared_reference
from webhook.api.snapshot.slices import counts
from webhook.api.snapshot.workload import GATE
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.jobs.actions import NOT_COMPOSED, NOT_STARTED, Actions
from webhook.cluster.jobs.deactivated_retention import kept_for
from webhook.cluster.jobs.group_steps import GroupStep, by_pods, ended, group_step, places, replacement, to_move
from webhook.cluster.jobs.managed import IS_GROUP, ManagedJobs
from webhook.cluster.jobs.pods_ready_condition import told_of
from webhook.cluster.jobs.start_stop import PlacementConflict
from webhook.cluster.jobs.steps import JobStep, gone
from webhook.cluster.jobs.workqueue import NEXT_LOOK_SECONDS, POLL
from webhook.cluster.workloads import conditions as workload_conditions
from webhook.cluster.workloads.events import tell_checks
from webhook.jobs.elastic import annotation
from webhook.jobs.finish import Finish
from webhook.jobs.pod_groups import (
    GROUP,
    agreed,
    as_one_job,
    by_age,
    is_over,
    is_ready,
    is_running,
    may_run,
    of_role,
    phase_of,
    total_of,
    waits,
)
from webhook.jobs.read_job import prebuilt_of, read_job
from webhook.kube.condition_types import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    WAITING_FOR_REPLACEMENT_PODS,
)
from webhook.kube.conditions import holds
from webhook.kube.gvk import POD
from webhook.store.objects import Object, key_of

log = logging.getLogger(__name__)

_ENDS: Final = frozenset({GroupStep.CREATE, GroupStep.FINISH, GroupStep.DROP, GroupStep.LET_GO})
_CONFLICT: Final = "this pod group cannot be admitted"


class PodGroups:
    """`look` does one step for a group, and says when to look again."""

    def __init__(
        self,
        view: View,
        writer: LeaderWriter,
        actions: Actions,
        events: EventRecorder,
        managed: ManagedJobs,
        settings: QueueSettings,
    ) -> None:
        self._view, self._writer, self._actions, self._events = view, writer, actions, events
        self._managed, self._readiness = managed, settings.wait_for_pods_ready is not None
        self._retention = settings.retention.after_deactivated

    async def look(self, namespace: str, name: str) -> float | None:
        """Do the next step for a group. A Workload of its name that is no group's is left alone."""
        pods = self._pods(namespace, name)
        workload = self._view.informer(WORKLOAD).get(name, namespace)
        if workload is not None and annotation(workload, IS_GROUP) != "true":
            await self._refuse(name, pods)
            return None
        if any(self._managed.read(pod) is None for pod in pods):
            await self._left(pods, workload)
            return None
        step, about = group_step(pods, workload)
        if self._readiness and workload is not None and pods and step not in _ENDS:
            told = told_of(workload, ready=is_ready(places(pods, workload).kept))
            if told is not None:
                await self._actions.tell(workload, PODS_READY, *told)
                return NEXT_LOOK_SECONDS
        if step is GroupStep.NONE:
            self._tell(name, pods, workload)
            return await self._rest(pods, workload) if workload is not None and by_pods(workload) else None
        if step is GroupStep.FREE and not about:
            return None
        log.info("pod group %s/%s: %s", namespace, name, step.value)
        if step is GroupStep.START and workload is not None:
            return await self._start(about, pods, workload)
        if step is GroupStep.CREATE:
            await self._create(name, list(about))
        elif workload is not None:
            await self._take(step, about, pods, workload)
        return POLL if step is GroupStep.END else NEXT_LOOK_SECONDS

    def _tell(self, name: str, pods: Sequence[Object], workload: Object | None) -> None:
        """Tell what a group waits for: its pods for the checks of its Workload, or its oldest one for others of it.

        The note has no number that changes, so that a pod that comes is no news of those that are there.
        """
        if workload is not None:
            if holds(workload, QUOTA_RESERVED) and not holds(workload, ADMITTED):
                tell_checks(self._events, pods, workload)
        elif pods and sum(map(may_run, pods)) < (total := total_of(pods)):
            self._events.tell(
                pods[0], NOT_COMPOSED, f"pod group {name} has fewer than {total} pods that may run", warning=True
            )

    async def refresh(self, namespace: str, name: str) -> None:
        """Read a group from the store itself."""
        for pod in self._pods(namespace, name):
            await self._writer.refresh(POD, *key_of(pod))
        await self._writer.refresh(WORKLOAD, namespace, name)

    def _pods(self, namespace: str, name: str) -> list[Object]:
        """Return the pods of a group, the oldest first."""
        return by_age(self._view.informer(POD).of(namespace, (GROUP, name)))

    async def _refuse(self, name: str, pods: Sequence[Object]) -> None:
        """Tell the pods of a group whose Workload would have the name of another's; those that are deleted go."""
        for pod in pods:
            if not may_run(pod):
                await self._actions.pods.free(pod)
        if held := [pod for pod in pods if waits(pod)]:
            note = f'A Workload named "{name}" already exists but is not a pod group workload; {_CONFLICT}'
            self._events.tell(held[0], "WorkloadNameConflict", note, warning=True)

    async def _left(self, pods: list[Object], workload: Object | None) -> None:
        """See to a group of which a pod left its queue: what it holds is given back, what was deleted goes."""
        rests = [pod for pod in pods if is_over(pod) or (gone(pod) and not is_running(pod))]
        over = len(rests) == len(pods)
        if workload is not None and by_pods(workload) and not holds(workload, FINISHED):
            if over:
                await self._actions.finish(pods[0], workload, _finish(pods, workload))
            elif gone(workload) or holds(workload, EVICTED) or all(map(waits, pods)):
                await self._actions.drop(pods[0], workload)
        for pod in rests:
            if over or gone(pod):
                await self._actions.pods.free(pod)

    async def _take(self, step: GroupStep, chosen: Sequence[Object], pods: list[Object], workload: Object) -> None:
        if step is GroupStep.JOIN:
            old = workload["metadata"].get("ownerReferences") or []
            references = [*old, *(shared_reference(pod) for pod in chosen)]
            await self._writer.metadata(workload, {"ownerReferences": references})
            self._events.tell(workload, "OwnerReferencesAdded", f"Added {len(chosen)} owner reference(s)")
        elif step is GroupStep.RECLAIM:
            rows = [{"name": role, "count": count} for role, count in sorted(ended(pods, workload).items())]
            await self._writer.status(workload, {**(workload.get("status") or {}), "reclaimablePods": rows or None})
        elif step is GroupStep.MOVE:
            queue = to_move(places(pods, workload).kept, workload)
            await self._writer.replace({**workload, "spec": {**workload["spec"], "queueName": queue}})
        elif step is GroupStep.RELEASE:
            await self._writer.status(workload, workload_conditions.released(workload, self._writer.stamp()))
        elif step is GroupStep.FINISH:
            await self._actions.finish(pods[0] if pods else workload, workload, _finish(pods, workload))
        elif step is GroupStep.LET_GO:
            await self._actions.let_go(workload)
        elif step is GroupStep.DROP:
            await self._actions.drop(pods[0], workload)
        elif step is GroupStep.TELL and (told := replacement(places(pods, workload), workload)) is not None:
            await self._actions.tell(workload, WAITING_FOR_REPLACEMENT_PODS, *told)
        for pod in chosen:
            await self._one(step, pod, workload)

    async def _one(self, step: GroupStep, pod: Object, workload: Object) -> None:
        """Do a step for one pod."""
        if step is GroupStep.END:
            await self._actions.pods.end(pod, workload)
        elif step is GroupStep.HOLD:
            await self._actions.pods.hold(pod, workload)
        elif step is GroupStep.SPARE:
            await self._actions.pods.spare(pod)
        elif step is GroupStep.FREE:
            await self._actions.pods.free(pod)

    async def _start(self, chosen: Sequence[Object], pods: Sequence[Object], workload: Object) -> float | None:
        """Let pods go, on their flavors. Where the checks contradict them or a pod, the group can never run whole.

        That is the end of its Workload, unless others of its pods have been let go: then it is when they have ended.
        """
        workload = await self._actions.settle(workload)
        ready: list[Object] = []
        conflicts: list[tuple[Object, str]] = []
        for pod in chosen:
            described = read_job(pod)
            assert described is not None  # a pod of a group is one
            try:
                ready.append(self._actions.placed(pod, of_role(pod, described), workload, marked=True))
            except PlacementConflict as error:
                conflicts.append((pod, str(error)))
        if conflicts and all(waits(pod) or is_over(pod) for pod in pods):
            pod, why = conflicts[0]
            await self._actions.finish(pod, workload, Finish(NOT_STARTED, why))
            return NEXT_LOOK_SECONDS
        for pod, why in conflicts:
            self._events.tell(pod, NOT_STARTED, why, warning=True)
        queue = workload["status"]["admission"]["clusterQueue"]
        for pod in ready:
            await self._writer.replace(pod)
            self._events.tell(pod, "Started", f"Admitted by clusterQueue {queue}")
        return NEXT_LOOK_SECONDS if ready else None

    async def _rest(self, pods: list[Object], workload: Object) -> float | None:
        """See to a group that has nothing to do: what its pods say of its Workload, and whether they are given up."""
        if await self._follow(places(pods, workload).kept, workload):
            return NEXT_LOOK_SECONDS
        left = kept_for(workload, self._retention, self._writer.stamp())
        for pod in pods if left == 0 else ():
            if not gone(pod):
                await self._actions.remove(pod)
        return left or None

    async def _follow(self, pods: Sequence[Object], workload: Object) -> bool:
        """Write priority or admission gate of a Workload that its pods name otherwise now; return whether it was."""
        if not pods or holds(workload, FINISHED) or gone(workload) or any(map(prebuilt_of, pods)):
            return False
        first, described = pods[0], read_job(pods[0])
        agree = len({(row.priority_class if (row := read_job(pod)) else None) for pod in pods}) == 1
        if described is None or not agree or self._actions.lacks_class(first, described):
            return False
        if self._actions.drafts.priority_change(first, described, workload):
            await self._actions.take(JobStep.REPRIORITIZE, first, described, workload)
            return True
        gate = annotation(agreed(pods), GATE)
        if holds(workload, QUOTA_RESERVED) or gate == annotation(workload, GATE):
            return False
        await self._writer.metadata(workload, {"annotations": {GATE: gate or None}})
        self._events.tell(pods[0], "UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{gate}"')
        return True

    async def _create(self, name: str, pods: list[Object]) -> None:
        described = as_one_job(pods)
        if described is None or self._actions.lacks_class(pods[0], described):
            return
        await self._actions.create_group(agreed(pods), described, name, pods, {})


def _finish(pods: list[Object], workload: Object) -> Finish:
    total = sum(counts(workload).values())
    succeeded = sum(phase_of(pod) == "Succeeded" for pod in pods)
    return Finish("Succeeded" if succeeded >= total else "Failed", f"Pods succeeded: {succeeded}/{total}.")
