"""What is done to a single Pod: it is let go, ended by deletion, or tracked no more."""

from __future__ import annotations

from webhook.api.job_to_workload import STOPPED
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.finalizers import without
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.jobs.start_stop import ungated
from webhook.cluster.jobs.steps import TERMINATION, gone, went
from webhook.jobs.job import Job
from webhook.jobs.pod_groups import is_tracked
from webhook.jobs.read_job import POD_FINALIZER
from webhook.kube.condition_types import EVICTED
from webhook.kube.conditions import conditions_of, find, holds, same, with_condition
from webhook.store.objects import Object


class PodActions:
    """Does it, if the Pod is still as it was seen. All raise StoreError."""

    def __init__(self, writer: LeaderWriter, events: EventRecorder) -> None:
        self._writer, self._events = writer, events

    async def ungate(self, pod: Object, described: Job) -> None:
        """Let a pod go that no queue holds."""
        await self._writer.replace(ungated(pod, described))

    async def hold(self, pod: Object, workload: Object) -> None:
        """Say in a gated pod since when it may not go by its Workload: a write of before cannot let it go then.

        It stands in its status: annotations are part of what the Workload was made from.
        """
        reason, _ = _why(workload)
        rows = with_condition(conditions_of(pod), STOPPED, True, reason, went(workload) or "", self._writer.stamp())
        await self._writer.status(pod, {"conditions": rows})

    async def end(self, pod: Object, workload: Object) -> None:
        """Delete a pod, and say in its status why. Raises Conflict where its Workload is not as we saw it."""
        await self._writer.confirm(workload)
        reason, message = _why(workload)
        if not same(pod, TERMINATION, True, reason, message):
            rows = with_condition(conditions_of(pod), TERMINATION, True, reason, message, self._writer.stamp())
            pod = await self._writer.status(pod, {"conditions": rows})
        await self._writer.delete(pod)
        self._events.tell(pod, "Stopped", message)

    async def free(self, pod: Object) -> None:
        """Track a pod no more: if it was deleted, it goes now."""
        if is_tracked(pod):
            await self._writer.metadata(pod, {"finalizers": without(pod, POD_FINALIZER)})

    async def spare(self, pod: Object) -> None:
        """Delete a pod that is too many in its group."""
        await self.free(pod)
        if not gone(pod):
            await self._writer.delete(pod)
            self._events.tell(pod, "ExcessPodDeleted", "Excess pod deleted")


def _why(workload: Object) -> tuple[str, str]:
    """Return reason and message of the condition of a Pod that is to end, in Kueue's words."""
    if gone(workload):
        return "WorkloadDeleted", "Workload is deleted"
    if holds(workload, EVICTED):
        why = find(workload, EVICTED) or {}
        return f"WorkloadEvictedDueTo{why.get('reason') or ''}", str(why.get("message") or "")
    return "NotAdmitted", "Not admitted by cluster queue"
