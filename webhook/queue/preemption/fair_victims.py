"""The search under fair sharing: victims come from the subtree with the largest share, while the rules allow it.

Shares are computed on a usage list that includes the preemptor's request; whether the request fits is tested on a
second list without it. Its rules are `preempt.reach`, `preempt.entitled` and `preempt.allowed` in
`policies/queue/kueue-fair/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webhook.queue.decisions import PreemptionReason
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.preemption.candidates import Candidate
from webhook.queue.preemption.victim_search import Target, VictimSearch, fits, put_back
from webhook.queue.quota.shares import almost_common, compare, relative, share_of
from webhook.queue.quota.tree import Amounts, TreeNode, Usage
from webhook.queue.rules import Reach, Shares


def fair_victims(search: VictimSearch, amounts: Amounts, short: Sequence[int]) -> list[Target]:
    """Return victims so that all `amounts` fit; empty if fair sharing does not allow enough victims."""
    candidates = _candidates(search, short)
    if not candidates:
        return []
    run = _FairRun(search, amounts, short)
    chosen = run.run(candidates)
    if not chosen:
        return []
    node, usage = search.pending_queue.node, run.plain
    return put_back(chosen, lambda: fits(search.rules, node, amounts, usage, True), usage)


def _candidates(search: VictimSearch, short: Sequence[int]) -> list[Candidate]:
    mine = search.pending_queue
    tree, pending_queues = mine.node.tree, [mine]
    if search.rules.reach(mine.queue, Reach(mine.node.parent is not None, False, False)):
        search.reclaimed = True
        others = (search.pending_queues[n] for n in tree.nodes if n.is_queue and n is not mine.node)
        pending_queues += [o for o in others if o.holders and not o.inactive and tree.over(o.node, short, search.usage)]
    return [
        each
        for pending_queue in pending_queues
        for each in search.candidates.using(short, pending_queue, False)
        if each.entry.key not in search.gone
    ]


@dataclass(slots=True, eq=False)
class _FairRun:
    """One run over ranked candidates; `plain` and `loaded` are usage without and with the preemptor's request."""

    search: VictimSearch
    amounts: Amounts
    short: Sequence[int]
    plain: Usage = field(default_factory=list)
    loaded: Usage = field(default_factory=list)
    chosen: list[Target] = field(default_factory=list)

    def run(self, candidates: list[Candidate]) -> list[Target]:
        search, node = self.search, self.search.pending_queue.node
        self.plain, self.loaded = search.usage.copy(), search.usage.copy()
        node.tree.add(node, self.amounts, self.loaded)
        strategies = search.rules.strategies
        entitled = all(
            search.rules.entitled(node.tree.cells[node.base + c], self.loaded[node.base + c]) for c in self.short
        )
        left: list[Candidate] = []
        if self._first(candidates, strategies[0], entitled, left):
            return self.chosen
        if len(strategies) > 1 and self._second(left, strategies[1]):
            return self.chosen
        return []

    def _evict(self, candidate: Candidate, why: PreemptionReason) -> bool:
        entry, pending_queue = candidate.entry, candidate.pending_queue
        tree = pending_queue.node.tree
        tree.remove(pending_queue.node, entry.amounts, self.plain)
        tree.remove(pending_queue.node, entry.amounts, self.loaded)
        self.chosen.append(Target(entry, pending_queue, why))
        return fits(self.search.rules, self.search.pending_queue.node, self.amounts, self.plain, True)

    def _first(self, candidates: list[Candidate], strategy: str, entitled: bool, left: list[Candidate]) -> bool:
        order = _Order(self.search, candidates)
        while (pending_queue := order.next(self.loaded)) is not None:
            waiting = order.left[pending_queue]
            if pending_queue is self.search.pending_queue or entitled:
                why = (
                    PreemptionReason.IN_CLUSTER_QUEUE
                    if pending_queue is self.search.pending_queue
                    else PreemptionReason.RECLAIM
                )
                if self._evict(waiting.pop(0), why):
                    return True
                continue
            while waiting:
                candidate = waiting.pop(0)
                if self.search.rules.allowed(strategy, self._shares(candidate)):
                    if self._evict(candidate, PreemptionReason.FAIR_SHARING):
                        return True
                    break
                left.append(candidate)
        return False

    def _second(self, candidates: list[Candidate], strategy: str) -> bool:
        order = _Order(self.search, candidates)
        while (pending_queue := order.next(self.loaded)) is not None:
            candidate = order.left[pending_queue].pop(0)
            allowed = self.search.rules.allowed(strategy, self._shares(candidate))
            if allowed and self._evict(candidate, PreemptionReason.FAIR_SHARING):
                return True
            order.drop(pending_queue)
        return False

    def _shares(self, candidate: Candidate) -> Shares:
        entry, pending_queue = candidate.entry, candidate.pending_queue
        rules, tree = self.search.rules, pending_queue.node.tree
        mine, theirs = almost_common(self.search.pending_queue.node, pending_queue.node)
        preemptor, before = share_of(mine, self.loaded, rules), share_of(theirs, self.loaded, rules)
        trial = self.loaded.copy()
        tree.remove(pending_queue.node, entry.amounts, trial)
        after = share_of(theirs, trial, rules)
        return Shares(relative(preemptor, preemptor), relative(before, preemptor), relative(after, preemptor))


class _Order:
    """Chooses the queue of the next victim: down the tree by the largest share, until no candidates are left."""

    __slots__ = ("ancestors", "left", "pruned", "search")

    def __init__(self, search: VictimSearch, candidates: list[Candidate]) -> None:
        self.search = search
        self.left: dict[PendingQueue, list[Candidate]] = {}
        for candidate in candidates:
            self.left.setdefault(candidate.pending_queue, []).append(candidate)
        self.ancestors = set(search.pending_queue.node.path)
        self.pruned: set[TreeNode] = set()

    def drop(self, pending_queue: PendingQueue) -> None:
        self.pruned.add(pending_queue.node)

    def next(self, usage: Usage) -> PendingQueue | None:
        root = self.search.pending_queue.node.tree.root
        if root.is_queue:
            return (
                self.search.pending_queue
                if self.left.get(self.search.pending_queue) and root not in self.pruned
                else None
            )
        while root not in self.pruned:
            if (pending_queue := self._largest(root, usage)) is not None:
                return pending_queue
        return None

    def _largest(self, cohort: TreeNode, usage: Usage) -> PendingQueue | None:
        pending_queue, queue_share = self._queue(cohort, usage)
        child, child_share = self._cohort(cohort, usage)
        if pending_queue is None and child is None:
            self.pruned.add(cohort)
            return None
        if child is not None and child_share >= queue_share:
            return self._largest(child, usage)
        return pending_queue

    def _queue(self, cohort: TreeNode, usage: Usage) -> tuple[PendingQueue | None, tuple[bool, float]]:
        best, best_share = None, (False, -1.0)
        for node in cohort.queues:
            if node in self.pruned:
                continue
            share = share_of(node, usage, self.search.rules)
            pending_queue = self.search.pending_queues[node]
            left = self.left.get(pending_queue)
            if not left or (share.ratio == 0 and pending_queue is not self.search.pending_queue):
                self.pruned.add(node)
                continue
            key = compare(share)
            is_next = best is not None and key == best_share and left[0].sort_key < self.left[best][0].sort_key
            if key > best_share or is_next:
                best, best_share = pending_queue, key
        return best, best_share

    def _cohort(self, cohort: TreeNode, usage: Usage) -> tuple[TreeNode | None, tuple[bool, float]]:
        best, best_share = None, (False, -1.0)
        for node in cohort.children:
            if node in self.pruned:
                continue
            share = share_of(node, usage, self.search.rules)
            if share.ratio == 0 and node not in self.ancestors:
                self.pruned.add(node)
            elif compare(share) >= best_share:
                best, best_share = node, compare(share)
        return best, best_share
