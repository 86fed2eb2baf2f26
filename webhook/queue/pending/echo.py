"""Kueue's cohort echo: in trees of two levels or more, a ClusterQueue's changed status retries the whole tree.

Kueue's controllers pass it on through the Cohorts below the root. Nothing was freed by it, so it costs turns and gives
nothing: it is heard only where Kueue's cycles are counted, to be compared with Kueue.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.queue.pending.queue import PendingQueue
from webhook.queue.quota.tree import Tree

Status = tuple[object, ...]


class Echo:
    """The statuses of the queues below the root's own, as they stood when last looked at."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, Status] = {}

    def heard(self, pending_queues: Iterable[PendingQueue]) -> dict[Tree, None]:
        """Give the trees of queues whose status is another than before."""
        trees: dict[Tree, None] = {}
        for pending_queue in pending_queues:
            status = _status(pending_queue)
            if self._seen.get(pending_queue.queue.name) != status:
                self._seen[pending_queue.queue.name] = status
                if len(pending_queue.node.path) > 2:
                    trees[pending_queue.node.tree] = None
        return trees


def _status(pending_queue: PendingQueue) -> Status:
    """Give what Kueue counts in a ClusterQueue's status: usage, and who holds quota, is admitted, and waits."""
    holders, used = pending_queue.holders.values(), dict[tuple[str, str], int]()
    for entry in holders:
        for column, amount in entry.amounts:
            name = pending_queue.node.tree.names[column]
            used[name] = used.get(name, 0) + amount
    waiting = sum(1 for _ in pending_queue.waiting())
    admitted = sum(e.admitted for e in holders)
    return tuple(sorted(used.items())), len(holders), admitted, waiting, bool(pending_queue.inactive)
