"""What a state keeps when its trees are built again: who is parked, where no edit of a definition asks for a new look.

As in Kueue, an edit of a ClusterQueue or a Cohort retries the tree it is in now, and no other; any other edit retries
everything. Losing this memory costs looks and nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from webhook.queue.events import Definition
from webhook.queue.model import ClusterQueue, Cohort, Namespace
from webhook.queue.pending.queue import EquivalenceClass, PendingQueue
from webhook.queue.pending.wakeup import Changes
from webhook.queue.quota.tree import Tree

Place = tuple[bool, str]
"""Whether it is a ClusterQueue, and the name of a node."""


@dataclass(slots=True)
class Edits:
    """The ClusterQueues and Cohorts that were edited, and roots whose trees are to be retried for another reason.

    `resized` are those whose quota or place in the tree is another.
    """

    edited: set[Place] = field(default_factory=set)
    resized: set[Place] = field(default_factory=set)
    all: bool = False

    def everything(self) -> None:
        """Take note of an edit that may help anybody."""
        self.all = True

    def retry(self, trees: Iterable[Tree]) -> None:
        """Take note of trees that were to be retried before they are built again."""
        self.edited |= {(tree.root.is_queue, tree.root.name) for tree in trees}

    def note(self, before: Definition | None, after: Definition) -> None:
        """Take note of a definition that is another now."""
        match before, after:
            case ClusterQueue(), ClusterQueue():
                self.edited.add((True, after.name))
                if before.groups != after.groups or before.cohort != after.cohort:
                    self.resized |= {(True, after.name), (False, before.cohort)}
            case Cohort() | None, Cohort():
                self.edited.add((False, after.name))
                self.resized.add((False, after.name))
            case _, Namespace():
                pass
            case _:
                self.all = True


@dataclass(frozen=True, slots=True)
class Remembered:
    """A queue's parked classes by their keys, and how often something changed in it."""

    parked: Mapping[Hashable, EquivalenceClass]
    generation: int


def remember(pending_queues: Iterable[PendingQueue]) -> dict[str, Remembered]:
    """Give what is to be kept of some queues, by name."""
    return {q.queue.name: Remembered({c.key: c for c in q.blocked}, q.generation) for q in pending_queues}


def restore(
    remembered: Mapping[str, Remembered], by_tree: Mapping[Tree, Sequence[PendingQueue]], edits: Edits, changes: Changes
) -> None:
    """Park again in new trees what was parked in the old ones, but where an edit asks for a look."""
    for tree, pending_queues in by_tree.items():
        names = {(node.is_queue, node.name) for node in tree.nodes}
        retried, resized = edits.all or not names.isdisjoint(edits.edited), not names.isdisjoint(edits.resized)
        for pending_queue in pending_queues:
            known = remembered.get(pending_queue.queue.name)
            if known is None:
                continue
            pending_queue.generation = known.generation + resized
            if not retried:
                _park(pending_queue, known.parked, changes)


def _park(pending_queue: PendingQueue, parked: Mapping[Hashable, EquivalenceClass], changes: Changes) -> None:
    for key, before in parked.items():
        now = pending_queue.classes.get(key)
        if now is not None:
            now.verdict, now.watch = before.verdict, before.watch
            now.preempts, now.reclaims, now.volatile = before.preempts, before.reclaims, before.volatile
            pending_queue.block(now)
            changes.blocked(now)
