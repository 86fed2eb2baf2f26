"""Reservations: quota kept for a head that lets others pass, and when the head will need it (for backfill)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.quota.tree import Amounts, TreeNode, Usage


@dataclass(frozen=True, slots=True)
class Reservation:
    """Amounts reserved at a node. `begins`: when the head is expected to start (milliseconds), 0 if unknown.

    `borrowed` is the part of them that is beyond the queue's own quota: kept from what waits behind the head, since
    that would use up the queue's own quota in time, and free to other queues, whose quota it may be.
    """

    node: TreeNode
    amounts: Amounts
    borrowed: Amounts
    begins: int


def begins(nomination: Nomination, pending_queues: Iterable[PendingQueue], usage: Usage, now: int) -> int:
    """Estimate when a head can start: when enough holders of the quota that it lacks have ended, by their run times.

    Each is taken out of the tree, since what a queue does not lend, or the head may not borrow, is of no use to it.
    0 if a workload that must end first has no run time.
    """
    node, assignment = nomination.pending_queue.node, nomination.assignment
    tree, usage, lacking = node.tree, usage.copy(), {c: assignment.usage[c] for c in assignment.short}
    ends: list[tuple[int, TreeNode, Amounts]] = []
    for pending_queue in pending_queues:
        for entry in pending_queue.holders.values():
            run_time, admission = entry.workload.run_time, entry.admission
            if run_time is None or admission is None:
                continue
            if freed := [(column, amount) for column, amount in entry.amounts if column in lacking]:
                ends.append((admission.reserved_at + run_time, pending_queue.node, freed))
    for end, holder, amounts in sorted(ends, key=_end):
        tree.remove(holder, amounts, usage)
        if all(amount <= tree.available(node.base + column, usage) for column, amount in lacking.items()):
            return max(end, now)
    return 0


def _end(row: tuple[int, TreeNode, Amounts]) -> int:
    return row[0]
