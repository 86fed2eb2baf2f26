"""A search for victims: what both algorithms search in, what they learn, and how victims are taken and put back.

The classic algorithm is in `classic_victims.py`, the one under fair sharing in `fair_victims.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from webhook.queue.decisions import PreemptionReason
from webhook.queue.pending.queue import Entry, PendingQueue
from webhook.queue.preemption.candidates import Candidates
from webhook.queue.quota.tree import Amounts, TreeNode, Usage
from webhook.queue.rules import Mode, Rules


@dataclass(frozen=True, slots=True)
class Target:
    """A victim, its queue, and why it is one."""

    entry: Entry
    pending_queue: PendingQueue
    why: PreemptionReason


@dataclass(slots=True, eq=False)
class VictimSearch:
    """A search for the victims of one workload. `gone` are keys of workloads that already count as evicted.

    Afterwards `reclaimed` says whether other queues were searched; if the classic search failed, `freed` is the most
    that each column could have had.
    """

    pending_queue: PendingQueue
    usage: Usage
    rules: Rules
    pending_queues: Mapping[TreeNode, PendingQueue]
    gone: Mapping[str, Target]
    candidates: Candidates
    reclaimed: bool = False
    freed: dict[int, int] | None = None

    def outcome(self, chosen: Sequence[Target], column: int, amount: int) -> tuple[int, int]:
        """Return what the victims make possible in one column: the mode, and the height borrowed from afterwards."""
        node = self.pending_queue.node
        if not chosen:
            return Mode.NO_CANDIDATES, node.tree.height_to_fit(node, column, amount, self.usage)[0]
        usage = without(self.usage, chosen)
        mode = Mode.PREEMPT if any(t.pending_queue is self.pending_queue for t in chosen) else Mode.RECLAIM
        return mode, node.tree.height_to_fit(node, column, amount, usage)[0]


def fits(rules: Rules, node: TreeNode, amounts: Amounts, usage: Usage, borrowing: bool) -> bool:
    """Return whether amounts fit at a queue; without `borrowing`, also within its own quota."""
    tree = node.tree
    for column, amount in amounts:
        at = node.base + column
        if not borrowing and rules.borrows(tree.cells[at], usage[at] + amount):
            return False
        if amount > tree.available(at, usage):
            return False
    return True


def put_back(chosen: list[Target], still: Callable[[], bool], usage: Usage) -> list[Target]:
    """Put victims back while the workload `still` fits, starting before the last: the last one was needed."""
    for index in range(len(chosen) - 2, -1, -1):
        target = chosen[index]
        node = target.pending_queue.node
        node.tree.add(node, target.entry.amounts, usage)
        if still():
            chosen[index] = chosen[-1]
            chosen.pop()
        else:
            node.tree.remove(node, target.entry.amounts, usage)
    return chosen


def without(usage: Usage, targets: Iterable[Target]) -> Usage:
    """Return a copy of a usage list without what the targets use."""
    trial = usage.copy()
    for target in targets:
        target.pending_queue.node.tree.remove(target.pending_queue.node, target.entry.amounts, trial)
    return trial
