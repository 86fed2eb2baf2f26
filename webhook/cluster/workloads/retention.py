"""Deletes finished Workloads when their retention is over (`objectRetentionPolicies` of the configuration)."""

from __future__ import annotations

from webhook.api.configuration.sections import Retention
from webhook.cluster.api.finalizers import is_marked, let_go
from webhook.cluster.controller_context import ControllerContext
from webhook.kube.condition_types import FINISHED
from webhook.kube.conditions import find
from webhook.kube.fields import at
from webhook.kube.times import milliseconds
from webhook.store.errors import NotFound
from webhook.store.objects import Object


class WorkloadRetention:
    """Deletes finished Workloads; they are kept for ever if the settings say nothing else."""

    def __init__(self, context: ControllerContext, retention: Retention) -> None:
        self._writer, self._events, self._clock_ms = context.writer, context.events, context.clocks.milliseconds
        self._after_finished = retention.after_finished

    async def look(self, workload: Object) -> int | None:
        """Delete a finished Workload if its retention is over, else return when it is (milliseconds since the epoch).

        Returns None if it is deleted, or kept for ever. Raises NotLeading, StoreError.
        """
        if self._after_finished is None or at(workload, ("metadata", "deletionTimestamp")):
            return None
        ended = milliseconds((find(workload, FINISHED) or {}).get("lastTransitionTime"))
        until = ended + self._after_finished
        if until > self._clock_ms():
            return until
        if is_marked(workload):
            workload = await self._writer.metadata(workload, {"finalizers": let_go(workload)})
        try:
            await self._writer.delete(workload)
        except NotFound:
            return None
        self._events.tell(workload, "Deleted", "Deleted finished workload due to elapsed retention")
        return None
