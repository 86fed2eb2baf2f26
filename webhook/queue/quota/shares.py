"""Dominant resource shares of fair sharing, and the tournament that picks the next head by them.

The recursion over the tree is here; the formula of a share and what is compared are rules: `share.ratio` and
`share.value` in `policies/queue/kueue/policy.yaml`, `tournament` in `policies/queue/kueue-fair/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from webhook.queue.model import ClusterQueue, Workload
from webhook.queue.quota.tree import Amounts, Tree, TreeNode, Usage
from webhook.queue.rules import Contest, Key, Rules, Share, UsageFacts

NO_SHARE = Share()


@dataclass(frozen=True, slots=True)
class CurrentShares:
    """The shares of nodes by name, as they are compared: thousandths of what is lent, by weight; may be infinite."""

    cluster_queues: Mapping[str, float] = field(default_factory=dict)
    cohorts: Mapping[str, float] = field(default_factory=dict)


def current_shares(trees: Iterable[Tree], rules: Rules) -> CurrentShares:
    """Return the share of each node with what is held now."""
    cluster_queues: dict[str, float] = {}
    cohorts: dict[str, float] = {}
    for tree in trees:
        for node in tree.nodes:
            share = 0.0 if tree.failure else share_of(node, tree.usage, rules).value
            (cluster_queues if node.is_queue else cohorts)[node.name] = share
    return CurrentShares(cluster_queues, cohorts)


def share_of(node: TreeNode, usage: Usage, rules: Rules) -> Share:
    """Return a node's dominant share: of the resources it borrows, the largest part of what its parent could have."""
    return _share(node, usage, rules)[0]


def _share(node: TreeNode, usage: Usage, rules: Rules) -> tuple[Share, tuple[int, ...]]:
    parent = node.parent
    if parent is None:
        return NO_SHARE, ()
    tree, base = node.tree, node.base
    borrowed: dict[str, int] = {}
    columns = []
    for column in range(tree.width):
        excess = usage[base + column] - tree.cells[base + column].subtree
        if excess > 0:
            resource = tree.resources[column]
            borrowed[resource] = borrowed.get(resource, 0) + excess
            columns.append(column)
    ratio = 0.0
    for resource, amount in borrowed.items():
        lendable = sum(tree.cells[parent.base + c].most for c in range(tree.width) if tree.resources[c] == resource)
        if lendable > 0:
            ratio = max(ratio, rules.ratio(amount, lendable))
    value = rules.share(ratio, node.definition.weight, bool(borrowed))
    return Share(ratio, value, bool(borrowed), value == float("inf")), tuple(columns)


def compare(share: Share) -> tuple[bool, float]:
    """Return the sort key of a share: infinite ones last, ordered by their unweighted ratio."""
    return (share.infinite, share.ratio if share.infinite else share.value)


def relative(share: Share, to: Share) -> float:
    """Return a share as a number that compares to `to`'s as the shares do, even if `to` is infinite."""
    if not to.infinite:
        return share.value
    return share.ratio if share.infinite else -1.0


class Tournament:
    """The heads of the queues of one tree. Each level of the tree sends up the head that its rules put first."""

    __slots__ = ("_due", "_keys", "_last", "heads", "rules")

    def __init__(self, rules: Rules) -> None:
        self.heads: dict[TreeNode, tuple[Workload, Amounts, UsageFacts]] = {}
        self.rules = rules
        self._keys: dict[tuple[TreeNode, TreeNode], Key] = {}
        self._due: dict[TreeNode, None] = {}
        self._last: frozenset[TreeNode] = frozenset()

    def enter(self, node: TreeNode, workload: Workload, amounts: Amounts, facts: UsageFacts) -> None:
        """Enter the head of a queue, with the amounts it would use and its usage facts."""
        self.heads[node] = (workload, amounts, facts)
        self._due[node] = None

    def pop(self, root: TreeNode, usage: Usage, stale: bool) -> TreeNode:
        """Remove and return the winner's queue. `stale` says that the usage changed since the last call.

        Usage changed at the last winner and its ancestors only: heads below none of these keep their shares. The root
        has no share, and the head that took the winner's place is new anyway.
        """
        if stale and len(self._last) > 1:
            self._due.update((node, None) for node in self.heads if not self._last.isdisjoint(node.path[:-1]))
        if len(self.heads) == 1:
            winner = next(iter(self.heads))
        else:
            for node in self._due:
                self._contest(node, usage)
            self._due = {}
            found = self._winner(root)
            assert found is not None
            winner = found
        self._last = frozenset(winner.path[:-1])
        del self.heads[winner]
        self._due.pop(winner, None)
        return winner

    def _contest(self, node: TreeNode, usage: Usage) -> None:
        """Compute the keys of a head at each level; they stay valid until its shares change."""
        workload, amounts, facts = self.heads[node]
        queue, trial = node.definition, usage.copy()
        assert isinstance(queue, ClusterQueue)
        node.tree.add(node, amounts, trial)
        asked = {column for column, amount in amounts if amount > 0}
        for below, ancestor in zip(node.path, node.path[1:], strict=False):
            share, borrowed = _share(below, trial, self.rules)
            contest = Contest(not asked.isdisjoint(borrowed), share.value, share.ratio, share.infinite)
            self._keys[node, ancestor] = (*self.rules.tournament(workload, queue, contest, facts), workload.key)

    def _winner(self, cohort: TreeNode) -> TreeNode | None:
        best: TreeNode | None = None
        best_key: Key = ()
        heads, keys = self.heads, self._keys
        for child in cohort.children:
            if (node := self._winner(child)) is not None and (best is None or keys[node, cohort] < best_key):
                best, best_key = node, keys[node, cohort]
        for node in cohort.queues:
            if node in heads and (best is None or keys[node, cohort] < best_key):
                best, best_key = node, keys[node, cohort]
        return best


def almost_common(first: TreeNode, second: TreeNode) -> tuple[TreeNode, TreeNode]:
    """Return the ancestors of two queues (or they themselves) right below the lowest cohort that holds both."""
    above: Sequence[TreeNode] = first.path
    for below, ancestor in zip(second.path, second.path[1:], strict=False):
        if ancestor in above:
            return above[above.index(ancestor) - 1], below
    return first, second
