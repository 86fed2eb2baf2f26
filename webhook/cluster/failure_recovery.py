"""Deletes terminating Pods on unreachable nodes without their kubelet, if they allow it (KEP-6757).

The kubelet of such a node never confirms the deletion, so that the quota would be held until the node is back. Most
Pods of a cluster are not in the view: those of an unreachable node are listed repeatedly.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import NODE
from webhook.cluster.api.leader_writer import LeaderWriter, NotLeading
from webhook.cluster.api.view import View
from webhook.kube.conditions import conditions_of, with_condition
from webhook.kube.fields import at
from webhook.kube.gvk import POD
from webhook.kube.times import milliseconds
from webhook.store.errors import Conflict, NotFound, Refused, StoreError
from webhook.store.objects import Object, key_of

log = logging.getLogger(__name__)

GATE: Final = "FailureRecoveryPolicy"
ALLOWED: Final = "kueue.x-k8s.io/safe-to-forcefully-delete"
"""Annotation of Pods that may be deleted so ("true"): two instances running at once must do no harm."""
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
CONDITION: Final = "KueueFailureRecovery"
REASON: Final = "KueueForcefullyDeleted"
LOOKS: Final = 6
"""How often a node is checked within the time that its Pods have."""
SHORTEST: Final = 0.2
LONGEST: Final = 10.0
"""The longest pause between two checks, in seconds."""


class FailureRecovery:
    """Checks unreachable nodes. `now` returns milliseconds; Pods are deleted once overdue by `after` seconds."""

    def __init__(
        self, view: View, writer: LeaderWriter, events: EventRecorder, now: Callable[[], int], after: float
    ) -> None:
        self._view, self._writer, self._events, self._now, self._after = view, writer, events, now, after

    async def run(self) -> None:
        """Check all nodes repeatedly; returns when this replica no longer leads."""
        while True:
            for node in unreachable(self._view.informer(NODE).all()):
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
        """Record in a Pod's status why it ended, then delete it without its kubelet. Raises Unavailable."""
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
        except (Conflict, Refused) as error:
            log.warning("Pod %s of the unreachable Node %s: %s", "/".join(key_of(pod)), node, error)
            return
        log.info("Pod %s ended without its kubelet: the Node %s is unreachable", "/".join(key_of(pod)), node)


def unreachable(nodes: list[Object]) -> Iterator[str]:
    """Yield the names of the Nodes with the unreachable taint."""
    for node in nodes:
        if any(taint.get("key") == UNREACHABLE for taint in at(node, ("spec", "taints")) or ()):
            yield key_of(node)[1]


def is_overdue(pod: Object, after: float, now: int) -> bool:
    """Return whether a Pod allows it and is overdue by `after` seconds at `now` (milliseconds since the epoch)."""
    deleted = at(pod, ("metadata", "deletionTimestamp"))
    if not deleted or at(pod, ("metadata", "annotations", ALLOWED)) != "true":
        return False
    return milliseconds(deleted) + after * 1000 <= now
