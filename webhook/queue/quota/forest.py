"""ClusterQueues and cohorts become trees of nodes. A cohort that is only named exists; cycles are cut off.

The trees of a state are kept: where definitions change, only the trees they stand in are built anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from webhook.queue.model import ClusterQueue, Cohort
from webhook.queue.quota.tree import Tree, TreeNode
from webhook.queue.rules import Rules

UNPLANTED = cast("Tree", None)
"""Stands in a node until its tree is built."""


@dataclass(frozen=True, slots=True)
class Regrown:
    """Trees that are new, and those that are gone."""

    new: list[Tree] = field(default_factory=list)
    gone: list[Tree] = field(default_factory=list)


class Forest:
    """The trees of a state, sorted by the name of the root."""

    __slots__ = ("trees",)

    def __init__(self) -> None:
        self.trees: list[Tree] = []

    def regrow(self, queues: Mapping[str, ClusterQueue], cohorts: Mapping[str, Cohort], rules: Rules) -> Regrown:
        """Build the trees anew that are not as the definitions have them; by other rules, all of them."""
        before = {(tree.root.is_queue, tree.root.name): tree for tree in self.trees}
        regrown = Regrown()
        trees = []
        for root in grow(queues, cohorts):
            tree = before.get((root.is_queue, root.name))
            if tree is None or tree.rules is not rules or not _same(tree.root, root):
                tree = _planted(root, rules)
                regrown.new.append(tree)
            trees.append(tree)
        kept = set(trees)
        regrown.gone.extend(tree for tree in self.trees if tree not in kept)
        self.trees[:] = trees
        return regrown


def _planted(root: TreeNode, rules: Rules) -> Tree:
    """Build a tree; where a rule fails on its quotas, one that stands still, and says why."""
    try:
        return Tree(root, rules)
    except rules.failures as error:
        return Tree(root, rules, still=rules.failed(error))


def _same(old: TreeNode, new: TreeNode) -> bool:
    """Say whether two trees have the same nodes with the same definitions; decayed usage is none of a tree's."""
    if old.name != new.name or not _alike(old.definition, new.definition):
        return False
    pairs = ((old.children, new.children), (old.queues, new.queues))
    return all(len(a) == len(b) and all(map(_same, a, b)) for a, b in pairs)


def _alike(old: ClusterQueue | Cohort, new: ClusterQueue | Cohort) -> bool:
    if isinstance(old, ClusterQueue) and isinstance(new, ClusterQueue):
        return old is new or replace(old, history=new.history) == new
    return old == new


def grow(queues: Mapping[str, ClusterQueue], cohorts: Mapping[str, Cohort]) -> list[TreeNode]:
    """Give the roots, sorted by name, with all their nodes linked; children are sorted by name too.

    Queues under a cycle of cohorts stand alone, without a cohort, until the cycle is mended; they are not active.
    """
    nodes = {name: TreeNode(name, cohort, UNPLANTED) for name, cohort in cohorts.items()}
    for name in [c.parent for c in cohorts.values()] + [q.cohort_name for q in queues.values()]:
        if name and name not in nodes:
            nodes[name] = TreeNode(name, Cohort(name), UNPLANTED)
    looped = {name for name in nodes if _loops(name, cohorts)}
    for name in sorted(nodes):
        node = nodes[name]
        assert isinstance(node.definition, Cohort)
        if node.definition.parent and name not in looped:
            node.parent = nodes[node.definition.parent]
            node.parent.children.append(node)
    roots = [nodes[name] for name in sorted(nodes) if nodes[name].parent is None and name not in looped]
    for name in sorted(queues):
        node = TreeNode(name, queues[name], UNPLANTED, is_queue=True)
        cohort = queues[name].cohort_name
        if not cohort or cohort in looped:
            roots.append(node)
        else:
            node.parent = nodes[cohort]
            node.parent.queues.append(node)
    return [r for r in roots if r.is_queue or r.queues or r.children]


def _loops(name: str, cohorts: Mapping[str, Cohort]) -> bool:
    seen: set[str] = set()
    while name:
        if name in seen:
            return True
        seen.add(name)
        found = cohorts.get(name)
        name = found.parent if found else ""
    return False
