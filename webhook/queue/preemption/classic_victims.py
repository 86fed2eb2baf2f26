"""The classic search: the smallest set of victims, in the rules' order, so that a workload fits.

Candidates are collected along the tree and removed in order from a copy of the usage until the workload fits; those
that turn out to be unneeded are put back. Its rules are `preempt.attempts`, `preempt.reach` and
`preempt.whileBorrowing` in `policies/queue/kueue/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Final

from webhook.queue.decisions import PreemptionReason
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.preemption.candidates import Candidate
from webhook.queue.preemption.victim_search import Target, VictimSearch, fits, put_back
from webhook.queue.quota.tree import Amounts, TreeNode, Usage
from webhook.queue.rules import Found, Reach, Variant

WHY: Final[Mapping[str, PreemptionReason]] = {
    Variant.WITHIN_QUEUE: PreemptionReason.IN_CLUSTER_QUEUE,
    Variant.HIERARCHY: PreemptionReason.RECLAIM,
    Variant.WITHOUT_BORROWING: PreemptionReason.RECLAIM,
    Variant.WHILE_BORROWING: PreemptionReason.RECLAIM_WHILE_BORROWING,
}


def classic_victims(search: VictimSearch, amounts: Amounts, short: Sequence[int]) -> list[Target]:
    """Return victims so that all `amounts` fit, or none; `short` are the columns that lack quota."""
    node, rules = search.pending_queue.node, search.rules
    under = all(search.usage[node.base + c] < node.tree.cells[node.base + c].nominal_quota for c in short)
    candidates = _candidates(search, amounts, short, under)
    if not candidates:
        return []
    candidates.sort(key=attrgetter("sort_key"))
    variants = {each.variant for each in candidates if each.pending_queue is not search.pending_queue}
    found = Found(bool(variants), Variant.HIERARCHY in variants, under)
    for borrowing in rules.attempts(search.pending_queue.queue, found):
        if chosen := _attempt(search, candidates, amounts, short, borrowing):
            return chosen
    return []


def _candidates(search: VictimSearch, amounts: Amounts, short: Sequence[int], under: bool) -> list[Candidate]:
    out = _take(search, search.pending_queue, short, False, ())
    node, tree, cells = search.pending_queue.node, search.pending_queue.node.tree, search.pending_queue.node.tree.cells
    advantage, left, inside = False, dict(amounts), None
    for below, ancestor in zip(node.path, node.path[1:], strict=False):
        is_within = all(
            not search.rules.borrows(cells[below.base + c], search.usage[below.base + c] + v) for c, v in left.items()
        )
        left = {c: max(0, v - tree.local(cells[below.base + c], search.usage)) for c, v in left.items()}
        advantage = advantage or is_within
        if search.rules.reach(search.pending_queue.queue, Reach(True, advantage, under)):
            search.reclaimed = True
            out += _subtree(search, ancestor, inside, short, advantage, ())
        inside = ancestor
    return out


def _subtree(
    search: VictimSearch,
    node: TreeNode,
    inside: TreeNode | None,
    short: Sequence[int],
    advantage: bool,
    below: tuple[TreeNode, ...],
) -> list[Candidate]:
    tree, out = node.tree, list[Candidate]()
    for child in node.children:
        if child is not inside and tree.over(child, short, search.usage):
            out += _subtree(search, child, None, short, advantage, (child, *below))
    for queue in node.queues:
        other = search.pending_queues[queue]
        # Workloads of a stopped queue are no victims: they could not be admitted again.
        if other is search.pending_queue or other.inactive or not other.holders:
            continue
        if tree.over(queue, short, search.usage):
            out += _take(search, other, short, advantage, (queue, *below))
    return out


def _take(
    search: VictimSearch,
    pending_queue: PendingQueue,
    short: Sequence[int],
    advantage: bool,
    below: tuple[TreeNode, ...],
) -> list[Candidate]:
    gone = search.gone
    ranked = [each for each in search.candidates.using(short, pending_queue, advantage) if each.entry.key not in gone]
    # no victim comes before those that are ahead of it in its own queue, where usage counts
    places = accumulate((each.sort_key for each in ranked), max)
    return [
        Candidate(place, each.variant, each.entry, pending_queue, below)
        for place, each in zip(places, ranked, strict=True)
    ]


def _attempt(
    search: VictimSearch, candidates: Iterable[Candidate], amounts: Amounts, short: Sequence[int], borrowing: bool
) -> list[Target]:
    tree, trial = search.pending_queue.node.tree, search.usage.copy()
    chosen: list[Target] = []
    for _, variant, entry, pending_queue, below in candidates:
        if pending_queue is not search.pending_queue and not _valid(search, variant, below, short, trial, borrowing):
            continue
        tree.remove(pending_queue.node, entry.amounts, trial)
        chosen.append(Target(entry, pending_queue, WHY[variant]))
        if fits(search.rules, search.pending_queue.node, amounts, trial, borrowing):
            return put_back(
                chosen, lambda: fits(search.rules, search.pending_queue.node, amounts, trial, borrowing), trial
            )
    base = search.pending_queue.node.base
    best = {c: tree.available(base + c, trial) for c, _ in amounts}
    search.freed = best if search.freed is None else {c: max(v, search.freed.get(c, v)) for c, v in best.items()}
    return []


def _valid(
    search: VictimSearch, variant: str, below: tuple[TreeNode, ...], short: Sequence[int], usage: Usage, borrowing: bool
) -> bool:
    if borrowing and not search.rules.while_borrowing(variant):
        return False
    tree = search.pending_queue.node.tree
    return all(tree.over(node, short, usage) for node in below)
