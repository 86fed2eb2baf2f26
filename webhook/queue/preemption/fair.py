"""The search for victims under fair sharing: from the subtree with the largest share, as long as it stays fair.

The usage list it works on holds the preemptor's request already, so that shares count it; whether all fits is tried
on a second list without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from webhook.queue.decisions import Why
from webhook.queue.pending.queue import Entry, Line
from webhook.queue.preemption.classic import Hunt, Target, fits, put_back
from webhook.queue.quota.shares import almost_common, compare, relative, share_of
from webhook.queue.quota.tree import Amounts, Node, Usage
from webhook.queue.rules import Key, Reach, Shares, Variant

Ranked = tuple[Key, Entry, Line]


@dataclass(slots=True, eq=False)
class FairHunt(Hunt):
    """As `Hunt`, with shares deciding who may be a victim."""

    def targets(self, amounts: Amounts, short: Sequence[int]) -> list[Target]:
        """Give victims so that all `amounts` fit; nothing where fairness does not allow enough of them."""
        candidates = self._ranked(short)
        if not candidates:
            return []
        search = _Search(self, amounts, short)
        chosen = search.run(candidates)
        if not chosen:
            return []
        node, usage = self.line.node, search.plain
        return put_back(chosen, lambda: fits(self.rules, node, amounts, usage, True), usage)

    def _ranked(self, short: Sequence[int]) -> list[Ranked]:
        tree = self.line.node.tree
        lines = [self.line]
        if self.rules.reach(self.line.queue, Reach(self.line.node.parent is not None, False, False)):
            self.crossed = True
            others = (self.lines[n] for n in tree.nodes if n.is_queue and n is not self.line.node)
            lines += [o for o in others if o.holders and tree.over(o.node, short, self.usage)]
        ranked = [r for line in lines for r in self._of(line, short)]
        ranked.sort(key=lambda r: r[0])
        return ranked

    def _of(self, line: Line, short: Sequence[int]) -> Iterator[Ranked]:
        rules, queue, workload = self.rules, self.line.queue, self.workload
        for entry in line.holders.values():
            victim = entry.victim
            assert victim is not None
            if entry.key in self.gone or not any(c in short for c, _ in entry.amounts):
                continue
            variant = rules.candidate(victim, workload, queue, False)
            if variant != Variant.NEVER:
                yield rules.victim_order(victim, workload, queue, variant, self.history(entry)), entry, line


@dataclass(slots=True, eq=False)
class _Search:
    """One run over ranked candidates; `plain` and `loaded` are usage without and with the preemptor's request."""

    hunt: Hunt
    amounts: Amounts
    short: Sequence[int]
    plain: Usage = field(default_factory=list)
    loaded: Usage = field(default_factory=list)
    chosen: list[Target] = field(default_factory=list)

    def run(self, candidates: list[Ranked]) -> list[Target]:
        hunt, node = self.hunt, self.hunt.line.node
        self.plain, self.loaded = hunt.usage.copy(), hunt.usage.copy()
        node.tree.add(node, self.amounts, self.loaded)
        strategies = hunt.rules.strategies
        entitled = all(
            hunt.rules.entitled(node.tree.cells[node.base + c], self.loaded[node.base + c]) for c in self.short
        )
        left: list[Ranked] = []
        if self._first(candidates, strategies[0], entitled, left):
            return self.chosen
        if len(strategies) > 1 and self._second(left, strategies[1]):
            return self.chosen
        return []

    def _evict(self, ranked: Ranked, why: Why) -> bool:
        _, entry, line = ranked
        tree = line.node.tree
        tree.remove(line.node, entry.amounts, self.plain)
        tree.remove(line.node, entry.amounts, self.loaded)
        self.chosen.append(Target(entry, line, why))
        return fits(self.hunt.rules, self.hunt.line.node, self.amounts, self.plain, True)

    def _first(self, candidates: list[Ranked], strategy: str, entitled: bool, left: list[Ranked]) -> bool:
        order = _Order(self.hunt, candidates)
        while (line := order.next(self.loaded)) is not None:
            waiting = order.left[line]
            if line is self.hunt.line or entitled:
                why = Why.IN_CLUSTER_QUEUE if line is self.hunt.line else Why.RECLAIM
                if self._evict(waiting.pop(0), why):
                    return True
                continue
            while waiting:
                ranked = waiting.pop(0)
                if self.hunt.rules.allowed(strategy, self._shares(ranked)):
                    if self._evict(ranked, Why.FAIR_SHARING):
                        return True
                    break
                left.append(ranked)
        return False

    def _second(self, candidates: list[Ranked], strategy: str) -> bool:
        order = _Order(self.hunt, candidates)
        while (line := order.next(self.loaded)) is not None:
            ranked = order.left[line].pop(0)
            allowed = self.hunt.rules.allowed(strategy, self._shares(ranked))
            if allowed and self._evict(ranked, Why.FAIR_SHARING):
                return True
            order.drop(line)
        return False

    def _shares(self, ranked: Ranked) -> Shares:
        _, entry, line = ranked
        rules, tree = self.hunt.rules, line.node.tree
        mine, theirs = almost_common(self.hunt.line.node, line.node)
        preemptor, before = share_of(mine, self.loaded, rules), share_of(theirs, self.loaded, rules)
        trial = self.loaded.copy()
        tree.remove(line.node, entry.amounts, trial)
        after = share_of(theirs, trial, rules)
        return Shares(relative(preemptor, preemptor), relative(before, preemptor), relative(after, preemptor))


class _Order:
    """Which queue gives the next victim: down the tree by the largest share, until nothing is left anywhere."""

    __slots__ = ("ancestors", "hunt", "left", "pruned")

    def __init__(self, hunt: Hunt, candidates: list[Ranked]) -> None:
        self.hunt = hunt
        self.left: dict[Line, list[Ranked]] = {}
        for ranked in candidates:
            self.left.setdefault(ranked[2], []).append(ranked)
        self.ancestors = set(hunt.line.node.path)
        self.pruned: set[Node] = set()

    def drop(self, line: Line) -> None:
        self.pruned.add(line.node)

    def next(self, usage: Usage) -> Line | None:
        root = self.hunt.line.node.tree.root
        if root.is_queue:
            return self.hunt.line if self.left.get(self.hunt.line) and root not in self.pruned else None
        while root not in self.pruned:
            if (line := self._largest(root, usage)) is not None:
                return line
        return None

    def _largest(self, cohort: Node, usage: Usage) -> Line | None:
        line, line_share = self._queue(cohort, usage)
        child, child_share = self._cohort(cohort, usage)
        if line is None and child is None:
            self.pruned.add(cohort)
            return None
        if child is not None and child_share >= line_share:
            return self._largest(child, usage)
        return line

    def _queue(self, cohort: Node, usage: Usage) -> tuple[Line | None, tuple[bool, float]]:
        best, best_share = None, (False, -1.0)
        for node in cohort.queues:
            if node in self.pruned:
                continue
            share = share_of(node, usage, self.hunt.rules)
            line = self.hunt.lines[node]
            left = self.left.get(line)
            if not left or (share.ratio == 0 and line is not self.hunt.line):
                self.pruned.add(node)
                continue
            key = compare(share)
            if key > best_share or (best is not None and key == best_share and left[0][0] < self.left[best][0][0]):
                best, best_share = line, key
        return best, best_share

    def _cohort(self, cohort: Node, usage: Usage) -> tuple[Node | None, tuple[bool, float]]:
        best, best_share = None, (False, -1.0)
        for node in cohort.children:
            if node in self.pruned:
                continue
            share = share_of(node, usage, self.hunt.rules)
            if share.ratio == 0 and node not in self.ancestors:
                self.pruned.add(node)
            elif compare(share) >= best_share:
                best, best_share = node, compare(share)
        return best, best_share
