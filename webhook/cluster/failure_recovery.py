"""Ends for good the Pods that were deleted on a node which nobody reaches, where their owner allowed it (KEP-6757).

The kubelet of such a node never confirms, so that their quota would be held until the node comes back. Most Pods of a
cluster are none of the view's: those of an unreachable node are listed, again and again while there is one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from webhook.api.snapshot.quota import milliseconds
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import NODE
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter, NotLeading
from webhook.jobs.describe import at
from webhook.kube.conditions import conditions_of, with_condition
from webhook.kube.gvk import POD
from webhook.store.errors import NotFound, StoreError
from webhook.store.objects import Object, key_of

log = logging.getLogger(__name__)

GATE: Final = "FailureRecoveryPolicy"
ALLOWED: Final = "kueue.x-k8s.io/safe-to-forcefully-delete"
"""The annotation, "true", of Pods that may end so: whoever writes it says that two of them at once do no harm."""
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
CONDITION: Final = "KueueFailureRecovery"
REASON: Final = "KueueForcefullyDeleted"
LOOKS: Final = 6
"""So often is a node looked at in the time that its Pods get."""
SHORTEST: Final = 0.2
LONGEST: Final = 10.0
"""Seconds between two looks."""


class FailureRecovery:
    """Looks at unreachable nodes. `now` gives milliseconds; for `after` seconds a Pod may be overdue."""

    def __init__(
        self, view: View, writer: LeaderWriter, events: EventRecorder, now: Callable[[], int], after: float
    ) -> None:
        self._view, self._writer, self._events, self._now, self._after = view, writer, events, now, after

    async def run(self) -> None:
        """Look at all of them until this replica leads no more."""
        while True:
            for node in unreachable(self._view.mirror(NODE).all()):
                try:
                    await self._look(node)
                except NotLeading:
                    return
                except StoreError as error:
                    log.warning("the Pods of the unreachable Node %s: %s", node, error)
            await asyncio.sleep(min(LONGEST, max(SHORTEST, self._after / LOOKS)))

    async def _look(self, node: str) -> None:
        listing = await self._view.store.list(POD, fields={"spec.nodeName": node})
        for pod in listing.items:
            if is_overdue(pod, self._after, self._now()):
                await self._end(pod, node)

    async def _end(self, pod: Object, node: str) -> None:
        """Say in a Pod's status why it ended, then delete it without waiting for its kubelet. Raises StoreError."""
        seconds = float(at(pod, ("metadata", "deletionGracePeriodSeconds")) or 0) + self._after
        message = (
            f"Pod forcefully terminated after {seconds:g}s grace period due to unreachable node `{node}`"
            f" (triggered by `{ALLOWED}` annotation)"
        )
        rows = with_condition(conditions_of(pod), CONDITION, True, REASON, message, self._writer.stamp())
        status: dict[str, Any] = {"conditions": rows}
        if at(pod, ("status", "phase")) not in ("Succeeded", "Failed"):
            status["phase"] = "Failed"
        try:
            pod = await self._writer.status(pod, status)
            self._events.tell(pod, REASON, message, warning=True)
            await self._writer.delete(pod, grace=0)
        except NotFound:
            return
        log.info("Pod %s ended without its kubelet: the Node %s is unreachable", "/".join(key_of(pod)), node)


def unreachable(nodes: list[Object]) -> Iterator[str]:
    """Give the names of the Nodes that nobody reaches."""
    for node in nodes:
        if any(taint.get("key") == UNREACHABLE for taint in at(node, ("spec", "taints")) or ()):
            yield key_of(node)[1]


def is_overdue(pod: Object, after: float, now: int) -> bool:
    """Say whether a Pod should have been gone for `after` seconds at `now`, in milliseconds, and may be ended so."""
    deleted = at(pod, ("metadata", "deletionTimestamp"))
    if not deleted or at(pod, ("metadata", "annotations", ALLOWED)) != "true":
        return False
    return milliseconds(deleted) + after * 1000 <= now
