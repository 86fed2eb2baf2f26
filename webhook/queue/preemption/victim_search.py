"""The classic victim search: the smallest set of victims, in the rules' order, so that a workload fits.

Candidates are collected along the tree and removed in order from a copy of the usage until the workload fits; those
that turn out to be unneeded are put back. Fair sharing has its own search in `fair_victim_search.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Final

from webhook.queue.decisions import Why
from webhook.queue.model import Workload
from webhook.queue.pending.queue import Entry, PendingQueue
from webhook.queue.preemption.candidates import Candidates
from webhook.queue.quota.tree import Amounts, TreeNode, Usage
from webhook.queue.rules import Found, Key, Mode, Reach, Rules, Variant

WHY: Final[Mapping[str, Why]] = {
    Variant.WITHIN_QUEUE: Why.IN_CLUSTER_QUEUE,
    Variant.HIERARCHY: Why.RECLAIM,
    Variant.WITHOUT_BORROWING: Why.RECLAIM,
    Variant.WHILE_BORROWING: Why.RECLAIM_WHILE_BORROWING,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A victim, its queue, and why it is one."""

    entry: Entry
    pending_queue: PendingQueue
    why: Why


Candidate = tuple[Key, str, Entry, PendingQueue, tuple[TreeNode, ...]]
"""Sort key, variant, workload and queue of a possible victim; the nodes from its queue to below the subtree."""


@dataclass(slots=True, eq=False)
class VictimSearch:
    """A victim search for one workload. `gone` are keys of workloads that already count as evicted.

    Afterwards `reclaimed` says whether other queues were searched; if the search failed, `freed` is the most that
    each column could have had.
    """

    pending_queue: PendingQueue
    workload: Workload
    usage: Usage
    rules: Rules
    pending_queues: Mapping[TreeNode, PendingQueue]
    gone: Mapping[str, Target]
    candidates: Candidates
    reclaimed: bool = False
    freed: dict[int, int] | None = None

    def targets(self, amounts: Amounts, short: Sequence[int]) -> list[Target]:
        """Return victims so that all `amounts` fit, or none; `short` are the columns that lack quota."""
        node, rules = self.pending_queue.node, self.rules
        under = all(self.usage[node.base + c] < node.tree.cells[node.base + c].nominal_quota for c in short)
        candidates = self._candidates(amounts, short, under)
        if not candidates:
            return []
        candidates.sort(key=itemgetter(0))
        variants = {variant for _, variant, _, queue, _ in candidates if queue is not self.pending_queue}
        found = Found(bool(variants), Variant.HIERARCHY in variants, under)
        for borrowing in rules.attempts(self.pending_queue.queue, found):
            if chosen := self._attempt(candidates, amounts, short, borrowing):
                return chosen
        return []

    def outcome(self, chosen: Sequence[Target], column: int, amount: int) -> tuple[int, int]:
        """Return what the victims make possible in one column: the mode, and the height borrowed from afterwards."""
        node = self.pending_queue.node
        if not chosen:
            return Mode.NO_CANDIDATES, node.tree.height_to_fit(node, column, amount, self.usage)[0]
        usage = without(self.usage, chosen)
        mode = Mode.PREEMPT if any(t.pending_queue is self.pending_queue for t in chosen) else Mode.RECLAIM
        return mode, node.tree.height_to_fit(node, column, amount, usage)[0]

    def _candidates(self, amounts: Amounts, short: Sequence[int], under: bool) -> list[Candidate]:
        out: list[Candidate] = []
        self._take(self.pending_queue, short, False, (), out)
        node, tree, cells = self.pending_queue.node, self.pending_queue.node.tree, self.pending_queue.node.tree.cells
        advantage, left, inside = False, dict(amounts), None
        for below, ancestor in zip(node.path, node.path[1:], strict=False):
            fits = all(
                not self.rules.borrows(cells[below.base + c], self.usage[below.base + c] + v) for c, v in left.items()
            )
            left = {c: max(0, v - tree.local(cells[below.base + c], self.usage)) for c, v in left.items()}
            advantage = advantage or fits
            if self.rules.reach(self.pending_queue.queue, Reach(True, advantage, under)):
                self.reclaimed = True
                self._subtree(ancestor, inside, short, advantage, (), out)
            inside = ancestor
        return out

    def _subtree(
        self,
        node: TreeNode,
        inside: TreeNode | None,
        short: Sequence[int],
        advantage: bool,
        below: tuple[TreeNode, ...],
        out: list[Candidate],
    ) -> None:
        tree = node.tree
        for child in node.children:
            if child is not inside and tree.over(child, short, self.usage):
                self._subtree(child, None, short, advantage, (child, *below), out)
        for queue in node.queues:
            other = self.pending_queues[queue]
            # Workloads of a stopped queue are no victims: they could not be admitted again.
            if other is self.pending_queue or other.inactive or not other.holders:
                continue
            if tree.over(queue, short, self.usage):
                self._take(other, short, advantage, (queue, *below), out)

    def _take(
        self,
        pending_queue: PendingQueue,
        short: Sequence[int],
        advantage: bool,
        below: tuple[TreeNode, ...],
        out: list[Candidate],
    ) -> None:
        gone = self.gone
        ranked = [r for r in self.candidates.using(short, pending_queue, advantage) if r[2].key not in gone]
        # no victim comes before those that are ahead of it in its own queue, where usage counts
        places = accumulate((key for key, _, _ in ranked), max)
        out += [
            (place, variant, entry, pending_queue, below)
            for place, (_, variant, entry) in zip(places, ranked, strict=True)
        ]

    def _attempt(
        self, candidates: Iterable[Candidate], amounts: Amounts, short: Sequence[int], borrowing: bool
    ) -> list[Target]:
        tree, trial = self.pending_queue.node.tree, self.usage.copy()
        chosen: list[Target] = []
        for _, variant, entry, queue, below in candidates:
            if queue is not self.pending_queue and not self._valid(variant, below, short, trial, borrowing):
                continue
            tree.remove(queue.node, entry.amounts, trial)
            chosen.append(Target(entry, queue, WHY[variant]))
            if fits(self.rules, self.pending_queue.node, amounts, trial, borrowing):
                return put_back(
                    chosen, lambda: fits(self.rules, self.pending_queue.node, amounts, trial, borrowing), trial
                )
        base = self.pending_queue.node.base
        best = {c: tree.available(base + c, trial) for c, _ in amounts}
        self.freed = best if self.freed is None else {c: max(v, self.freed.get(c, v)) for c, v in best.items()}
        return []

    def _valid(
        self, variant: str, below: tuple[TreeNode, ...], short: Sequence[int], usage: Usage, borrowing: bool
    ) -> bool:
        if borrowing and not self.rules.while_borrowing(variant):
            return False
        tree = self.pending_queue.node.tree
        return all(tree.over(node, short, usage) for node in below)


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
