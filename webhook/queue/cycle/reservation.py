"""What a head holds that made way for those behind it, and from when on it needs that, so that others may use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.quota.tree import Amounts, TreeNode, Usage


@dataclass(frozen=True, slots=True)
class Reservation:
    """Amounts held at a node. `begins`: when enough will have come free to start (milliseconds), 0 where unknown."""

    node: TreeNode
    amounts: Amounts
    begins: int


def begins(nomination: Nomination, pending_queues: Iterable[PendingQueue], usage: Usage, now: int) -> int:
    """Estimate when a head can start: when of all that holds what it lacks enough has ended, by the run times.

    0 where what must end first does not say how long it runs.
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
