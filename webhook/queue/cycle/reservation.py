"""Reservations: quota kept for a head that lets others pass, and when the head will need it (for backfill)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.quota.tree import Amounts, TreeNode, Usage


@dataclass(frozen=True, slots=True)
class Reservation:
    """Amounts reserved at a node. `begins`: when the head is expected to start (milliseconds), 0 if unknown."""

    node: TreeNode
    amounts: Amounts
    begins: int


def begins(nomination: Nomination, pending_queues: Iterable[PendingQueue], usage: Usage, now: int) -> int:
    """Estimate when a head can start: when enough holders of the quota that it lacks have ended, by their run times.

    0 if a workload that must end first has no run time.
    """
    node, assignment = nomination.pending_queue.node, nomination.assignment
    lacking = {c: assignment.usage[c] - node.tree.available(node.base + c, usage) for c in assignment.short}
    ends: list[tuple[int, Amounts]] = []
    for pending_queue in pending_queues:
        for entry in pending_queue.holders.values():
            run_time, admission = entry.workload.run_time, entry.admission
            if run_time is not None and admission is not None:
                ends.append((admission.reserved_at + run_time, entry.amounts))
    for end, amounts in sorted(ends):
        for column, amount in amounts:
            if column in lacking:
                lacking[column] -= amount
        if all(missing <= 0 for missing in lacking.values()):
            return max(end, now)
    return 0
