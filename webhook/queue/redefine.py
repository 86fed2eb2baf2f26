"""Applies changed definitions to a state, touching only what depends on them: a tree, a LocalQueue, its workloads.

A tree whose ClusterQueues or Cohorts changed is rebuilt, and the workloads waiting in it are tried again; they keep
their order and class. Decayed usage and workloads in other trees are not touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webhook.queue.events import Definition
from webhook.queue.model import AdmissionCheck, ClusterQueue, Cohort, Flavor, LocalQueue, Namespace
from webhook.queue.pending.queue import Entry, HeadVerdict, LaneKeys, PendingQueue, Status
from webhook.queue.pending.reorder import reorder
from webhook.queue.quota.forest import Rebuilt
from webhook.queue.quota.tree import Tree, TreeNode

if TYPE_CHECKING:
    from webhook.queue.state import State


NamedNode = tuple[bool, str]
"""Whether it is a ClusterQueue, and the name of a node."""


@dataclass(slots=True)
class Redefined:
    """The names of what changed. `resized` are the nodes whose quota or place in the tree changed.

    Of a namespace, whether its labels changed too: a ClusterQueue may select it, or no longer.
    """

    nodes: set[NamedNode] = field(default_factory=set)
    resized: set[NamedNode] = field(default_factory=set)
    locals: dict[str, None] = field(default_factory=dict)
    flavors: dict[str, None] = field(default_factory=dict)
    checks: dict[str, None] = field(default_factory=dict)
    namespaces: dict[str, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any((self.nodes, self.locals, self.flavors, self.checks, self.namespaces))

    def note(self, before: Definition | None, after: Definition | None, key: str) -> None:
        """Note a definition that changed or was deleted."""
        match before or after:
            case ClusterQueue() | LocalQueue() as queue if _only_used(before, after):
                assert queue is not None
            case ClusterQueue():
                self.nodes.add((True, key))
                if not isinstance(before, ClusterQueue) or not isinstance(after, ClusterQueue):
                    self.resized.add((True, key))
                elif before.resource_groups != after.resource_groups or before.cohort_name != after.cohort_name:
                    self.resized |= {(True, key), (False, before.cohort_name)}
            case Cohort():
                self.nodes.add((False, key))
                self.resized.add((False, key))
            case LocalQueue():
                self.locals[key] = None
            case Flavor():
                self.flavors[key] = None
            case AdmissionCheck():
                self.checks[key] = None
            case Namespace():
                self.namespaces[key] = self.namespaces.get(key, False) or _relabelled(before, after)


def _only_used(before: Definition | None, after: Definition | None) -> bool:
    """Return whether only decayed usage changed."""
    if not isinstance(before, ClusterQueue | LocalQueue) or not isinstance(after, ClusterQueue | LocalQueue):
        return False
    return replace(before, history=after.history) == after


def _relabelled(before: Definition | None, after: Definition | None) -> bool:
    """Return whether a namespace came, went, or got other labels."""
    return not isinstance(before, Namespace) or not isinstance(after, Namespace) or before.labels != after.labels


def follow(state: State, redefined: Redefined) -> None:
    """Update a state to its current definitions; without noted changes, build what is missing."""
    assert state.rules is not None
    touched = {q.name: None for name in redefined.flavors for q in state.queues_of(flavor=name)}
    touched |= {q.name: None for name in redefined.checks for q in state.queues_of(check=name)}
    strays: list[Entry] = []
    if redefined.nodes or not state.by_queue:
        rebuilt = state.forest.rebuild(state.cluster_queues, state.cohorts, state.rules)
        strays = _move_queues(state, rebuilt)
        for tree in rebuilt.new:
            _note_edits(state, tree, redefined)
        touched |= {node.name: None for tree in rebuilt.new for node in tree.nodes if node.is_queue}
    if touched:
        state.plans.forget()
        for name in touched:
            _refresh(state, state.by_queue[name])
    # What is outside waits for a ClusterQueue, or a rule failed on its flavors.
    if redefined.nodes or redefined.flavors:
        strays += state.outside.values()
    for local in redefined.locals:
        strays += state.by_local.get(local, {}).values()
    for entry in dict.fromkeys(strays):
        _enter_again(state, entry)
    read = state.accounting.reads_namespaces
    _wake(state, {name for name, relabelled in redefined.namespaces.items() if relabelled or read})


def _wake(state: State, namespaces: set[str]) -> None:
    """Look again at what waits in some namespaces."""
    for pending_queue in state.by_queue.values() if namespaces else ():
        here = [c for c in pending_queue.classes.values() if c.any().namespace in namespaces]
        if here:
            state.changes.always.update(dict.fromkeys(here))
            state.ready[pending_queue.node.tree] = None


def _move_queues(state: State, rebuilt: Rebuilt) -> list[Entry]:
    """Move queues to their new trees. Return the entries that must be placed again."""
    strays: list[Entry] = []
    before = {tree: state.by_tree.pop(tree, []) for tree in rebuilt.gone}
    for tree, pending_queues in before.items():
        state.ready.pop(tree, None)
        state.changed_trees.pop(tree, None)
        state.suspended.pop(tree, None)
        for pending_queue in pending_queues:
            del state.pending_queues[pending_queue.node]
    for name in [name for name in state.by_queue if name not in state.cluster_queues]:
        pending_queue = state.by_queue.pop(name)
        strays += (e for e in state.entries.values() if e.pending_queue is pending_queue)
    for tree in rebuilt.new:
        state.by_tree[tree] = [_move(state, node, strays) for node in tree.nodes if node.is_queue]
        state.pending_queues.update((pending_queue.node, pending_queue) for pending_queue in state.by_tree[tree])
        state.ready[tree] = None
    for tree, pending_queues in before.items():
        state.changes.replaced(tree, {q.node.tree for q in pending_queues if q.queue.name in state.by_queue})
    return strays


def _note_edits(state: State, tree: Tree, redefined: Redefined) -> None:
    """Retry a tree if a node was edited, as Kueue does; otherwise parked classes keep waiting for quota."""
    names = {(node.is_queue, node.name) for node in tree.nodes}
    state.changes.rebuilt[tree] = None
    if not names.isdisjoint(redefined.nodes):
        state.changes.retry[tree] = None
    if not names.isdisjoint(redefined.resized):
        for pending_queue in state.by_tree[tree]:
            pending_queue.generation += 1


def _move(state: State, node: TreeNode, strays: list[Entry]) -> PendingQueue:
    """Put a queue into its new tree, with the workloads that hold quota and those that wait."""
    pending_queue = state.by_queue.get(node.name)
    if pending_queue is None:
        pending_queue = state.by_queue[node.name] = PendingQueue(node, LaneKeys(state.share_of, state.rank_among))
        return pending_queue
    before, after = pending_queue.queue, node.definition
    assert isinstance(after, ClusterQueue)
    if pending_queue.node.tree.names != node.tree.names:
        _forget_numbers(pending_queue)
    pending_queue.node, pending_queue.queue = node, after
    for entry in pending_queue.holders.values():
        assert entry.admission is not None
        entry.amounts = node.tree.amounts_of(entry.admission)
        node.tree.hold(node, entry.amounts)
    if state.accounting.apart(before) != state.accounting.apart(after):
        strays += pending_queue.waiting()
    elif _orders_otherwise(state, before, after):
        reorder(state, pending_queue.waiting())
    return pending_queue


def _forget_numbers(pending_queue: PendingQueue) -> None:
    """Drop the reasons why heads did not fit, because the flavors and resources of the tree changed."""
    for entry in pending_queue.waiting():
        entry.verdict = _without_numbers(entry.verdict)
    for equivalence in pending_queue.classes.values():
        equivalence.verdict, equivalence.watch = _without_numbers(equivalence.verdict), ()


def _without_numbers(verdict: HeadVerdict | None) -> HeadVerdict | None:
    return verdict if verdict is not None and verdict.assignment is None else None


def _orders_otherwise(state: State, before: ClusterQueue, after: ClusterQueue) -> bool:
    """Return whether `order` reads a field of a queue that changed."""
    assert state.rules is not None
    read = state.rules.reads.get("order", frozenset())
    fields = [name.removeprefix("queue.") for name in read if name.startswith("queue.")]
    return "queue" in read or any(getattr(before, name) != getattr(after, name) for name in fields)


def _refresh(state: State, pending_queue: PendingQueue) -> None:
    """Recompute what follows from a queue's own definition for the workloads that wait and run there."""
    node, changes = pending_queue.node, state.changes
    assert state.rules is not None
    pending_queue.seen.clear()
    pending_queue.spares = state.rules.spares(pending_queue.queue)
    pending_queue.inactive = node.tree.failure or state.why_inactive(pending_queue.queue, in_cycle=node.parent is None)
    for equivalence in pending_queue.classes.values():
        equivalence.plan = state.plan(equivalence.any(), pending_queue)
    if node.tree not in changes.rebuilt:
        changes.always.update(dict.fromkeys(pending_queue.parked))
        changes.retry[node.tree] = None
    state.due.update(dict.fromkeys(pending_queue.holders))
    state.ready[node.tree] = None


def _enter_again(state: State, entry: Entry) -> None:
    pending_queue = entry.pending_queue
    if entry.status == Status.HOLDING and pending_queue is not None and pending_queue.queue.name in state.by_queue:
        state.due[entry.key] = None
    else:
        state.withdraw(entry)
        state.enter(entry)
        if entry.pending_queue is not pending_queue:
            entry.verdict = None
