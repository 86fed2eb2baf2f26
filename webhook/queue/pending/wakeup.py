"""Which classes that did not fit are worth looking at again, after what changed since.

A class is woken only when one of the numbers it failed on came within reach, when someone it could evict came, or when
its own queue gave quota back; without that, looking again would give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from webhook.queue.pending.queue import Entry, EquivalenceClass, PendingQueue
from webhook.queue.quota.accounting import Owner
from webhook.queue.quota.tree import Tree
from webhook.queue.rules import Reach, Rules, Variant, Victim

PendingQueues = Mapping[Tree, Sequence[PendingQueue]]
MANY: Final = 50
"""To ask of so many newcomers whether a class may evict them costs as much as to look at the class."""


class Changes:
    """What changed in a state since classes were last woken. `now` is the latest time heard of."""

    __slots__ = (
        "always",
        "arrived",
        "by_owner",
        "by_watch",
        "denied",
        "freed",
        "moved",
        "now",
        "reclaiming",
        "regrown",
        "retry",
    )

    def __init__(self) -> None:
        self.now = 0
        self.freed: dict[PendingQueue, None] = {}
        self.moved: dict[Tree, None] = {}
        self.retry: dict[Tree, None] = {}
        self.regrown: dict[Tree, None] = {}
        self.arrived: dict[PendingQueue, list[Entry]] = {}
        self.reclaiming: dict[Tree, dict[EquivalenceClass, None]] = {}
        self.always: dict[EquivalenceClass, None] = {}
        self.by_watch: set[EquivalenceClass] = set()
        self.denied: dict[EquivalenceClass, tuple[Owner, ...]] = {}
        self.by_owner: dict[Owner, dict[EquivalenceClass, None]] = {}

    def held(self, entry: Entry, pending_queue: PendingQueue) -> None:
        """Hear that an entry got quota."""
        tree = pending_queue.node.tree
        self.moved[tree] = None
        if pending_queue.blocked or self.reclaiming.get(tree) or self.by_watch:
            self.arrived.setdefault(pending_queue, []).append(entry)

    def released(self, pending_queue: PendingQueue) -> None:
        """Hear that a queue gave quota back."""
        self.freed[pending_queue] = None
        self.moved[pending_queue.node.tree] = None

    def blocked(self, equivalence: EquivalenceClass) -> None:
        """Hear that a class was set aside."""
        if equivalence.blocked and equivalence.reclaims:
            self.reclaiming.setdefault(equivalence.pending_queue.node.tree, {})[equivalence] = None

    def deny(self, equivalence: EquivalenceClass, owners: tuple[Owner, ...]) -> None:
        """Hear that a rule of `admit` set a class aside, after a look at the usage of some owners."""
        self.denied[equivalence] = owners
        for owner in owners:
            self.by_owner.setdefault(owner, {})[equivalence] = None

    def used(self, owners: Iterable[Owner]) -> None:
        """Hear that owners use more or less than before: who was denied for it is looked at again."""
        for owner in owners:
            self.always.update(self.by_owner.get(owner, {}))

    def time_passed(self, pending_queues: PendingQueues) -> Iterator[Tree]:
        """Hear that time may have made victims of more workloads: who found too few of them is looked at again.

        Gives the trees where somebody waits in front.
        """
        for tree, queues in pending_queues.items():
            for pending_queue in queues:
                found = (equivalence for equivalence in pending_queue.blocked if equivalence.preempts)
                self.always.update(dict.fromkeys(found))
            if any(pending_queue.head() is not None for pending_queue in queues):
                yield tree

    def settle(self) -> None:
        """Take all that changed so far for heard."""
        self.freed, self.moved, self.retry, self.regrown, self.arrived, self.always = {}, {}, {}, {}, {}, {}

    def forget(self, equivalence: EquivalenceClass) -> None:
        """Hear that a class waits for nothing any more."""
        for owner in self.denied.pop(equivalence, ()):
            classes = self.by_owner[owner]
            del classes[equivalence]
            if not classes:
                del self.by_owner[owner]
        tree = equivalence.pending_queue.node.tree
        if (reclaiming := self.reclaiming.get(tree)) is not None:
            reclaiming.pop(equivalence, None)
            if not reclaiming:
                del self.reclaiming[tree]
        self.always.pop(equivalence, None)
        self.by_watch.discard(equivalence)

    def replaced(self, old: Tree, new: Iterable[Tree]) -> None:
        """Hear that other trees have taken the place of one: what waits in them has other quota to look at."""
        for tree in new:
            self.regrown[tree] = None
            if old in self.retry:
                self.retry[tree] = None
        for gone in (self.moved, self.retry, self.regrown, self.reclaiming):
            gone.pop(old, None)

    def wake(self, rules: Rules, pending_queues: PendingQueues, *, all_retried: bool) -> Iterator[PendingQueue]:
        """Make classes active that may fit now, and give their queues; `all_retried` as in `State.awake`.

        `by_watch` are those that only quota within reach speaks for: where it is gone again, they need no look.
        """
        retried, self.retry = self.retry, {}
        if all_retried:
            yield from self._retry(queue for tree in retried for queue in pending_queues.get(tree, ()))
            self.freed, self.moved, self.arrived = {}, {}, {}
        else:
            yield from self._retry(queue for tree in self.regrown for queue in pending_queues.get(tree, ()))
        self.regrown = {}
        woken = dict.fromkeys(self.always)
        for pending_queue, entries in self.arrived.items():
            for entry in entries:
                if entry.victim is not None:
                    woken.update(dict.fromkeys(self._preemptors(entry, pending_queue, rules)))
        sure, self.by_watch = set(woken), set()
        freed = {pending_queue.node.tree for pending_queue in self.freed}
        above = {node for pending_queue in self.freed for node in (pending_queue.node, *pending_queue.node.path[1:-1])}
        for tree in self.moved:
            free: dict[int, int] = {}
            for pending_queue in (queue for queue in pending_queues.get(tree, ()) if queue.blocked):
                near = tree in freed and not above.isdisjoint(pending_queue.node.path)
                try:
                    closer = near and _reaches(pending_queue, rules)
                    asked = pending_queue.blocked if tree in freed else ()
                    helped = [k for k in asked if not k.volatile and _in_reach(k, tree, free)]
                except rules.failures:
                    # A rule that fails here fails when its class is looked at, too, and is told of there.
                    closer, helped = True, list(pending_queue.blocked)
                for equivalence in pending_queue.blocked:
                    if equivalence.volatile or (closer and equivalence.preempts) or (near and equivalence.barred):
                        sure.add(equivalence)
                        woken[equivalence] = None
                woken.update(dict.fromkeys(helped))
        self.freed, self.moved, self.arrived, self.always = {}, {}, {}, {}
        for equivalence in woken:
            if equivalence.blocked:
                self.forget(equivalence)
                if equivalence not in sure:
                    self.by_watch.add(equivalence)
                equivalence.pending_queue.unblock(equivalence)
                yield equivalence.pending_queue
            elif equivalence in self.denied:  # Its head stays in front, and is looked at again where its tree is.
                self.forget(equivalence)
                yield equivalence.pending_queue

    def _retry(self, pending_queues: Iterable[PendingQueue]) -> Iterator[PendingQueue]:
        """Make every parked class of some queues active, and give those where one was."""
        self.by_watch = set()
        for pending_queue in pending_queues:
            for equivalence in list(pending_queue.blocked):
                self.forget(equivalence)
                pending_queue.unblock(equivalence)
                yield pending_queue

    def _preemptors(self, entry: Entry, pending_queue: PendingQueue, rules: Rules) -> Iterator[EquivalenceClass]:
        """Give the classes that could evict a newcomer."""
        victim = entry.victim
        assert victim is not None
        tree = pending_queue.node.tree
        reclaiming = self.reclaiming.get(tree) or {}
        for equivalence in (*pending_queue.blocked, *(k for k in reclaiming if k.pending_queue is not pending_queue)):
            if not equivalence.preempts or not equivalence.blocked or equivalence.volatile:
                continue
            with suppress(*rules.failures):
                if self._may_evict(equivalence, victim, pending_queue, rules):
                    yield equivalence

    def _may_evict(self, equivalence: EquivalenceClass, victim: Victim, holder: PendingQueue, rules: Rules) -> bool:
        """Say whether the first of a class may evict who holds quota of a queue."""
        own, head = equivalence.pending_queue, equivalence.head()
        tree = holder.node.tree
        if (
            head is None
            or (own is holder and own.spares)
            or (own is not holder and not tree.over(holder.node, range(tree.width), tree.usage))
        ):
            return False
        return rules.candidate(victim, head.workload, own.queue, False, self.now) != Variant.NEVER

    def newcomers(self, equivalence: EquivalenceClass, rules: Rules) -> bool:
        """Say whether a class may evict somebody who got quota since classes were last woken; where many did, yes."""
        own = equivalence.pending_queue
        if not equivalence.preempts or not self.arrived or (own.spares and not equivalence.reclaims):
            return False
        holders = [own] if own in self.arrived and not own.spares else []
        if equivalence.reclaims:
            holders += [other for other in self.arrived if other is not own and other.node.tree is own.node.tree]
        if sum(len(self.arrived[holder]) for holder in holders) > MANY:
            return True
        return any(
            self._may_evict(equivalence, entry.victim, holder, rules)
            for holder in holders
            for entry in self.arrived[holder]
            if entry.victim is not None
        )


def _reaches(pending_queue: PendingQueue, rules: Rules) -> bool:
    """Say whether a queue that uses less than before may look for victims in other queues, at its best."""
    return pending_queue.node.parent is not None and rules.reach(pending_queue.queue, Reach(True, True, True))


def _in_reach(equivalence: EquivalenceClass, tree: Tree, free: dict[int, int]) -> bool:
    """Say whether a number that a class failed on came within reach; `free` remembers what is available where."""
    for at, amount in equivalence.watch:
        if at not in free:
            free[at] = tree.available(at, tree.usage)
        if free[at] >= amount:
            return True
    return False
