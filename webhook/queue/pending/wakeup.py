"""Which parked classes are looked at again after changes.

A class is woken only if an amount it failed on became available, if a workload that it could evict got quota, or if
its own queue released quota; otherwise another look would give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from webhook.queue.pending.queue import Entry, EquivalenceClass, PendingQueue
from webhook.queue.quota.tree import Tree
from webhook.queue.quota.usage_by_owner import Owner
from webhook.queue.rules import Reach, Rules, Variant, Victim

PendingQueues = Mapping[Tree, Sequence[PendingQueue]]
Retried = Callable[[EquivalenceClass], bool]
MANY: Final = 50
"""With more new holders than this, asking about each costs as much as looking at the class."""


class Changes:
    """The changes of a state since classes were last woken. `now` is the latest time seen."""

    __slots__ = (
        "always",
        "arrived",
        "by_owner",
        "by_watch",
        "denied",
        "freed",
        "moved",
        "now",
        "rebuilt",
        "reclaiming",
        "retry",
    )

    def __init__(self) -> None:
        self.now = 0
        self.freed: dict[PendingQueue, None] = {}
        self.moved: dict[Tree, None] = {}
        self.retry: dict[Tree, None] = {}
        self.rebuilt: dict[Tree, None] = {}
        self.arrived: dict[PendingQueue, list[Entry]] = {}
        self.reclaiming: dict[Tree, dict[EquivalenceClass, None]] = {}
        self.always: dict[EquivalenceClass, None] = {}
        self.by_watch: set[EquivalenceClass] = set()
        self.denied: dict[EquivalenceClass, tuple[Owner, ...]] = {}
        self.by_owner: dict[Owner, dict[EquivalenceClass, None]] = {}

    def held(self, entry: Entry, pending_queue: PendingQueue) -> None:
        """Note that an entry got quota."""
        tree = pending_queue.node.tree
        self.moved[tree] = None
        if pending_queue.parked or self.reclaiming.get(tree) or self.by_watch:
            self.arrived.setdefault(pending_queue, []).append(entry)

    def released(self, pending_queue: PendingQueue) -> None:
        """Note that a queue released quota."""
        self.freed[pending_queue] = None
        self.moved[pending_queue.node.tree] = None

    def note_parked(self, equivalence: EquivalenceClass) -> None:
        """Note that a class was parked."""
        if equivalence.parked and equivalence.reclaims:
            self.reclaiming.setdefault(equivalence.pending_queue.node.tree, {})[equivalence] = None

    def deny(self, equivalence: EquivalenceClass, owners: tuple[Owner, ...]) -> None:
        """Note that an `admit` rule denied a class after reading the usage of some owners."""
        self.denied[equivalence] = owners
        for owner in owners:
            self.by_owner.setdefault(owner, {})[equivalence] = None

    def used(self, owners: Iterable[Owner]) -> None:
        """Note that the usage of owners changed: classes denied because of it are looked at again."""
        for owner in owners:
            self.always.update(self.by_owner.get(owner, {}))

    def time_passed(self, pending_queues: PendingQueues) -> Iterator[Tree]:
        """Note that more workloads may be victims now: classes that found too few are looked at again.

        Return the trees where a class waits at the head of its queue.
        """
        for tree, queues in pending_queues.items():
            for pending_queue in queues:
                found = (equivalence for equivalence in pending_queue.parked if equivalence.preempts)
                self.always.update(dict.fromkeys(found))
            if any(pending_queue.head() is not None for pending_queue in queues):
                yield tree

    def clear(self) -> None:
        """Mark all changes so far as handled."""
        self.freed, self.moved, self.retry, self.rebuilt, self.arrived, self.always = {}, {}, {}, {}, {}, {}

    def forget(self, equivalence: EquivalenceClass) -> None:
        """Note that a class no longer waits for anything."""
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
        """Note that a tree was replaced: all classes in the new trees are looked at again."""
        for tree in new:
            self.rebuilt[tree] = None
            if old in self.retry:
                self.retry[tree] = None
        for gone in (self.moved, self.retry, self.rebuilt, self.reclaiming):
            gone.pop(old, None)

    def wake(
        self, rules: Rules, pending_queues: PendingQueues, *, retried: Retried | None = None
    ) -> Iterator[PendingQueue]:
        """Make classes active that may fit now, and yield their queues; with `retried`, those that Kueue would retry.

        `by_watch` becomes the set of classes that were woken only because an amount became available.
        """
        trees, self.retry = self.retry, {}
        if retried is not None:
            yield from self._retry((queue for tree in trees for queue in pending_queues.get(tree, ())), retried)
            self.freed, self.moved, self.arrived = {}, {}, {}
        else:
            yield from self._retry(queue for tree in self.rebuilt for queue in pending_queues.get(tree, ()))
        self.rebuilt = {}
        woken, sure = self._woken(rules, pending_queues)
        self.by_watch = set()
        self.freed, self.moved, self.arrived, self.always = {}, {}, {}, {}
        for equivalence in woken:
            if equivalence.parked:
                self.forget(equivalence)
                if equivalence not in sure:
                    self.by_watch.add(equivalence)
                equivalence.pending_queue.wake(equivalence)
                yield equivalence.pending_queue
            elif equivalence in self.denied:  # Its head was not parked: it is looked at again with its tree.
                self.forget(equivalence)
                yield equivalence.pending_queue

    def _woken(
        self, rules: Rules, pending_queues: PendingQueues
    ) -> tuple[dict[EquivalenceClass, None], set[EquivalenceClass]]:
        """Return the classes to wake, and of these the ones that are worth a look whatever becomes of free quota."""
        woken = dict.fromkeys(self.always)
        for pending_queue, entries in self.arrived.items():
            for entry in entries:
                if entry.victim is not None:
                    woken.update(dict.fromkeys(self._preemptors(entry, pending_queue, rules)))
        sure = set(woken)
        freed = {pending_queue.node.tree for pending_queue in self.freed}
        above = {node for pending_queue in self.freed for node in (pending_queue.node, *pending_queue.node.path[1:-1])}
        for tree in self.moved:
            free: dict[int, int] = {}
            for pending_queue in (queue for queue in pending_queues.get(tree, ()) if queue.parked):
                near = tree in freed and not above.isdisjoint(pending_queue.node.path)
                try:
                    closer = near and _reaches(pending_queue, rules)
                    asked = pending_queue.parked if tree in freed else ()
                    helped = [k for k in asked if not k.volatile and _in_reach(k, tree, free)]
                except rules.failures:
                    # A rule that fails here also fails when its class is looked at, and is reported there.
                    closer, helped = True, list(pending_queue.parked)
                for equivalence in pending_queue.parked:
                    if equivalence.volatile or (closer and equivalence.preempts) or (near and equivalence.barred):
                        sure.add(equivalence)
                        woken[equivalence] = None
                woken.update(dict.fromkeys(helped))
        return woken, sure

    def _retry(self, pending_queues: Iterable[PendingQueue], retried: Retried | None = None) -> Iterator[PendingQueue]:
        """Make parked classes of some queues active, all or those `retried`, and yield the queues that had one."""
        self.by_watch = set()
        for pending_queue in pending_queues:
            for equivalence in [each for each in pending_queue.parked if retried is None or retried(each)]:
                self.forget(equivalence)
                pending_queue.wake(equivalence)
                yield pending_queue

    def _preemptors(self, entry: Entry, pending_queue: PendingQueue, rules: Rules) -> Iterator[EquivalenceClass]:
        """Yield the classes that could evict a workload that just got quota."""
        victim = entry.victim
        assert victim is not None
        tree = pending_queue.node.tree
        reclaiming = self.reclaiming.get(tree) or {}
        for equivalence in (*pending_queue.parked, *(k for k in reclaiming if k.pending_queue is not pending_queue)):
            if not equivalence.preempts or not equivalence.parked or equivalence.volatile:
                continue
            with suppress(*rules.failures):
                if self._may_evict(equivalence, victim, pending_queue, rules):
                    yield equivalence

    def _may_evict(self, equivalence: EquivalenceClass, victim: Victim, holder: PendingQueue, rules: Rules) -> bool:
        """Return whether the first of a class may evict a workload that holds quota of a queue."""
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
        """Return whether a class may evict a workload that got quota since the last wake-up; True if there are many."""
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
    """Return whether a queue, now that it uses less, may search for victims in other queues, in the best case."""
    return pending_queue.node.parent is not None and rules.reach(pending_queue.queue, Reach(True, True, True))


def _in_reach(equivalence: EquivalenceClass, tree: Tree, free: dict[int, int]) -> bool:
    """Return whether an amount that a class failed on is now available; `free` caches what is available by cell."""
    for at, amount in equivalence.watch:
        if at not in free:
            free[at] = tree.available(at, tree.usage)
        if free[at] >= amount:
            return True
    return False
