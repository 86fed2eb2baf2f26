"""Builds cohort trees from ClusterQueues and Cohorts. A cohort that is only referenced exists; cycles are cut off.

When definitions change, only the trees that contain them are rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webhook.queue.model import ClusterQueue, Cohort
from webhook.queue.quota.tree import Tree, TreeNode
from webhook.queue.rules import Rules


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Trees that are new, and those that are gone."""

    new: list[Tree] = field(default_factory=list)
    gone: list[Tree] = field(default_factory=list)


class Forest:
    """The trees of a state, sorted by the name of the root."""

    __slots__ = ("trees",)

    def __init__(self) -> None:
        self.trees: list[Tree] = []

    def rebuild(self, queues: Mapping[str, ClusterQueue], cohorts: Mapping[str, Cohort], rules: Rules) -> Rebuilt:
        """Rebuild the trees that differ from the definitions; with other rules, all of them."""
        before = {(tree.root.is_queue, tree.root.name): tree for tree in self.trees}
        rebuilt = Rebuilt()
        trees = []
        for root in roots_of(queues, cohorts):
            tree = before.get((root.is_queue, root.name))
            if tree is None or tree.rules is not rules or not _same(tree.root, root):
                tree = _built(root, rules)
                rebuilt.new.append(tree)
            trees.append(tree)
        kept = set(trees)
        rebuilt.gone.extend(tree for tree in self.trees if tree not in kept)
        self.trees[:] = trees
        return rebuilt


def _built(root: TreeNode, rules: Rules) -> Tree:
    """Build a tree; if a rule fails on its quotas, one that admits nothing, with the reason in `failure`."""
    try:
        return Tree(root, rules)
    except rules.failures as error:
        return Tree(root, rules, failure=rules.failed(error))


def _same(old: TreeNode, new: TreeNode) -> bool:
    """Return whether two trees have the same nodes with the same definitions, apart from decayed usage."""
    if old.name != new.name or not _alike(old.definition, new.definition):
        return False
    pairs = ((old.children, new.children), (old.queues, new.queues))
    return all(len(a) == len(b) and all(map(_same, a, b)) for a, b in pairs)


def _alike(old: ClusterQueue | Cohort, new: ClusterQueue | Cohort) -> bool:
    if isinstance(old, ClusterQueue) and isinstance(new, ClusterQueue):
        return old is new or replace(old, history=new.history) == new
    return old == new


def roots_of(queues: Mapping[str, ClusterQueue], cohorts: Mapping[str, Cohort]) -> list[TreeNode]:
    """Return the roots, sorted by name, with all their nodes linked; children are sorted by name too.

    Queues under a cycle of cohorts have no cohort, and are inactive, until the cycle is removed.
    """
    nodes = {name: TreeNode(name, cohort) for name, cohort in cohorts.items()}
    for name in [c.parent for c in cohorts.values()] + [q.cohort_name for q in queues.values()]:
        if name and name not in nodes:
            nodes[name] = TreeNode(name, Cohort(name))
    looped = {name for name in nodes if _loops(name, cohorts)}
    for name in sorted(nodes):
        node = nodes[name]
        assert isinstance(node.definition, Cohort)
        if node.definition.parent and name not in looped:
            node.parent = nodes[node.definition.parent]
            node.parent.children.append(node)
    roots = [nodes[name] for name in sorted(nodes) if nodes[name].parent is None and name not in looped]
    for name in sorted(queues):
        node = TreeNode(name, queues[name], is_queue=True)
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
