"""Kueue's retry by status: in trees of two levels or more, a ClusterQueue's changed status retries the whole tree.

Kueue's controllers pass the change on through the Cohorts below the root. Nothing is released by it, so a retry costs a
turn and gives nothing: it is done only where cycles are counted as Kueue does, for comparison with Kueue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.queue.definitions import Definitions
from webhook.queue.pending.namespace_selector import takes
from webhook.queue.pending.queue import EquivalenceClass, PendingQueue
from webhook.queue.pending.wakeup import Changes, Retried
from webhook.queue.quota.tree import Tree

QueueStatus = tuple[object, ...]


class RetryByStatus:
    """The last seen statuses of queues."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, QueueStatus] = {}

    def retry(self, by_tree: Mapping[Tree, Sequence[PendingQueue]], changes: Changes) -> None:
        """Do what Kueue does where the status of a queue changed since the last call, by events or in a cycle.

        Its own searches for flavors begin again; below the children of a root, the whole tree is retried.
        """
        for tree, pending_queues in by_tree.items():
            others = [pending_queue for pending_queue in pending_queues if self._is_another(pending_queue)]
            for pending_queue in others:
                pending_queue.generation += 1
            if any(len(pending_queue.node.path) > 2 for pending_queue in others):
                changes.retry[tree] = None
                for pending_queue in pending_queues:
                    pending_queue.generation += 1

    def _is_another(self, pending_queue: PendingQueue) -> bool:
        name, status = pending_queue.queue.name, _status(pending_queue)
        before, self._seen[name] = self._seen.get(name), status
        return before != status


def retried(definitions: Definitions) -> Retried:
    """Return which parked classes Kueue retries: not those of a namespace that their queue does not take."""

    def is_retried(equivalence: EquivalenceClass) -> bool:
        head = equivalence.head()
        return head is None or takes(equivalence.pending_queue.queue, head.workload.namespace, definitions)

    return is_retried


def _status(pending_queue: PendingQueue) -> QueueStatus:
    """Return the numbers in a ClusterQueue's status: its usage and its reserving, admitted and pending workloads."""
    holders, used = pending_queue.holders.values(), dict[tuple[str, str], int]()
    for entry in holders:
        for column, amount in entry.amounts:
            name = pending_queue.node.tree.names[column]
            used[name] = used.get(name, 0) + amount
    waiting = sum(1 for _ in pending_queue.waiting())
    admitted = sum(e.admitted for e in holders)
    return tuple(sorted(used.items())), len(holders), admitted, waiting, bool(pending_queue.inactive)
