"""The queue of one ClusterQueue: the workloads that hold its quota, and those that wait, in order, by class.

Equivalent waiting workloads form one class (see `equivalence.py`): if its first does not fit, the whole class is parked
in one step until something it depends on changes. The order is the rule `order` in `policies/queue/kueue/policy.yaml`,
asked by `rank` in `state.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush, merge, nsmallest
from itertools import islice
from typing import Final

from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.flavors.request_plan import RequestPlan
from webhook.queue.flavors.search import Assignment
from webhook.queue.model import Admission, ClusterQueue, Workload
from webhook.queue.pending.positions import Positions
from webhook.queue.quota.tree import Amounts, TreeNode
from webhook.queue.rules import HeadOutcome, Key, Victim

SLACK: Final = 16
"""A heap is rebuilt when out-of-date items are more than half of it plus this number."""


class Status(IntEnum):
    """The status of a workload in the state."""

    OUT = 0
    WAITING = 1
    BACKOFF = 2
    HOLDING = 3


@dataclass(slots=True, eq=False)
class HeadVerdict:
    """Why a head was not admitted when it was last looked at; kept for explanations and for waking it.

    `stuck`: it stays at the head and blocks those behind it.
    """

    reason: Reason
    outcome: HeadOutcome
    message: str = ""
    assignment: Assignment | None = None
    place: PendingPlace = PendingPlace.ACTIVE
    stuck: bool = False


@dataclass(frozen=True, slots=True)
class FlavorProgress:
    """Where a search for flavors ended early: the flavor of each group, the cycle and the queue's generation."""

    tried: Mapping[tuple[str, int], int]
    cycle: int
    generation: int


@dataclass(slots=True, eq=False)
class Entry:
    """A workload in the state. `amounts` is its usage by column of the tree, `rank` its sort key in the queue.

    `seq` identifies its valid item in the heap of its class; -1: none. `until` is the end of its back-off. `progress`
    says where its next search for flavors resumes. `failed`: a rule failed before it could be queued;
    `why_not_queued` names the rule. `evict_at`: when the `evict` rules are asked about it again.
    """

    workload: Workload
    key: str
    status: Status = Status.OUT
    pending_queue: PendingQueue | None = None
    equivalence: EquivalenceClass | None = None
    rank: Key = ()
    amounts: Amounts = ()
    admission: Admission | None = None
    victim: Victim | None = None
    admitted: bool = False
    preemptor: str = ""
    verdict: HeadVerdict | None = None
    why_not_queued: str = ""
    failed: bool = False
    progress: FlavorProgress | None = None
    seq: int = -1
    until: int = 0
    evict_at: int = 0

    def plan(self) -> RequestPlan:
        """Return the request plan of a waiting entry."""
        assert self.equivalence is not None
        return self.equivalence.plan


@dataclass(slots=True, eq=False)
class EquivalenceClass:
    """Equivalent waiting workloads. A `parked` class waits for the (cell, amount) pairs in `watch`.

    `preempts`: victims were searched for, and in other queues too if `reclaims`. `barred`: quota was short and the
    rule `mayPreempt` allowed no victims. `volatile`: any change may help.
    """

    key: Hashable
    plan: RequestPlan
    pending_queue: PendingQueue
    lane: str = ""
    heap: list[tuple[Key, int, Entry]] = field(default_factory=list)
    members: dict[str, Entry] = field(default_factory=dict)
    parked: bool = False
    verdict: HeadVerdict | None = None
    watch: tuple[tuple[int, int], ...] = ()
    preempts: bool = False
    reclaims: bool = False
    barred: bool = False
    volatile: bool = False

    def head(self) -> Entry | None:
        """Return the first waiting entry; out-of-date items of the heap are dropped."""
        heap = self.heap
        while heap:
            _, seq, entry = heap[0]
            if entry.seq == seq:
                return entry
            heappop(heap)
        return None

    def place(self, entry: Entry, seq: int) -> None:
        """Put an entry into the order; its earlier item becomes out of date."""
        self.members[entry.key] = entry
        entry.seq = seq
        heappush(self.heap, (entry.rank, seq, entry))
        if len(self.heap) > 2 * len(self.members) + SLACK:
            self.heap = [(e.rank, e.seq, e) for e in self.members.values() if e.seq >= 0]
            heapify(self.heap)

    def in_order(self) -> Iterator[Entry]:
        """Yield the waiting entries by rank; the cost is that of the items looked at, not that of the class."""
        heap = self.heap
        nearest = [(heap[0], 0)] if heap else []
        while nearest:
            (_, seq, entry), at = heappop(nearest)
            if entry.seq == seq:
                yield entry
            for below in range(2 * at + 1, min(2 * at + 3, len(heap))):
                heappush(nearest, (heap[below], below))

    def any(self) -> Workload:
        """Return one of the workloads."""
        return next(iter(self.members.values())).workload


@dataclass(frozen=True, slots=True)
class LaneKeys:
    """How lanes are compared: by the decayed share of an entry's LocalQueue and its sort key among all lanes."""

    share: Callable[[Entry], float]
    rank: Callable[[Entry], Key]


class Lane:
    """The active classes of one LocalQueue, or of all LocalQueues if they are not ordered by their usage.

    `known` caches the sort key of the first entry among all lanes, with the entry and share it was computed for.
    """

    __slots__ = ("heap", "known")

    def __init__(self) -> None:
        self.heap: list[tuple[Key, int, EquivalenceClass]] = []
        self.known: tuple[int, float, Key] = (-1, 0.0, ())

    def place(self, entry: Entry, ask: LaneKeys) -> Key:
        """Return the sort key of the first entry among all lanes."""
        share = ask.share(entry)
        if self.known[:2] != (entry.seq, share):
            self.known = entry.seq, share, ask.rank(entry)
        return self.known[2]

    def push(self, equivalence: EquivalenceClass, most: int) -> None:
        """Add a class by its first entry; `most` is the number of classes."""
        if (entry := equivalence.head()) is None:
            return
        heappush(self.heap, (entry.rank, entry.seq, equivalence))
        if len(self.heap) > 2 * most + SLACK:
            latest = {
                place[2]: place for place in self.heap if (e := place[2].head()) is not None and e.seq == place[1]
            }
            self.heap = list(latest.values())
            heapify(self.heap)

    def head(self) -> Entry | None:
        """Return the first entry of a class that is not parked."""
        heap = self.heap
        while heap:
            _, seq, equivalence = heap[0]
            if equivalence.parked:
                heappop(heap)
                continue
            entry = equivalence.head()
            if entry is not None and entry.seq == seq:
                return entry
            heappop(heap)
            if entry is not None:
                heappush(heap, (entry.rank, entry.seq, equivalence))
        return None


class PendingQueue:
    """The queue of one ClusterQueue. `ask` returns how lanes are compared.

    `generation` counts changes that may give a search for flavors another result. `spares`: workloads waiting here
    never preempt workloads of the same queue.
    """

    __slots__ = (
        "aside",
        "ask",
        "classes",
        "generation",
        "holders",
        "inactive",
        "lanes",
        "node",
        "parked",
        "positions",
        "queue",
        "seen",
        "spares",
    )

    def __init__(self, node: TreeNode, ask: LaneKeys, inactive: str = "") -> None:
        assert isinstance(node.definition, ClusterQueue)
        self.node, self.ask = node, ask
        self.queue: ClusterQueue = node.definition
        self.classes: dict[Hashable, EquivalenceClass] = {}
        self.lanes: dict[str, Lane] = {}
        self.parked: dict[EquivalenceClass, None] = {}
        self.aside: list[Entry] = []
        self.holders: dict[str, Entry] = {}
        self.inactive = inactive
        self.seen: dict[tuple[int, int], tuple[Key, bool]] = {}
        self.generation = 0
        self.positions: Positions[Entry] | None = None
        self.spares = False

    def inactive_message(self) -> str:
        """Word why no workload of a queue that is inactive is considered."""
        return f"ClusterQueue {self.queue.name} is inactive: {self.inactive}"

    def has_waiting(self, entry: Entry) -> bool:
        """Return whether an entry waits here."""
        return entry.pending_queue is self and entry.status == Status.WAITING

    def push(self, entry: Entry, seq: int) -> None:
        """Add a waiting entry; its parked class becomes active if the entry comes before the one that did not fit."""
        equivalence = entry.equivalence
        assert equivalence is not None
        first = equivalence.head()
        equivalence.place(entry, seq)
        if self.positions is not None:
            self.positions.note(entry)
        if first is None or entry.rank < first.rank:
            if equivalence.parked:
                self.wake(equivalence)
            else:
                self._activate(equivalence)

    def move(self, entry: Entry, seq: int) -> None:
        """Move a waiting entry to its new rank. This wakes no parked class."""
        equivalence = entry.equivalence
        assert equivalence is not None
        equivalence.place(entry, seq)
        if self.positions is not None:
            self.positions.note(entry)
        if not equivalence.parked:
            self._activate(equivalence)

    def _activate(self, equivalence: EquivalenceClass) -> None:
        if (lane := self.lanes.get(equivalence.lane)) is None:
            lane = self.lanes[equivalence.lane] = Lane()
        lane.push(equivalence, len(self.classes))

    def remove(self, entry: Entry) -> bool:
        """Remove a waiting entry. Return whether its class is now empty and was removed too."""
        equivalence = entry.equivalence
        assert equivalence is not None
        entry.seq, entry.equivalence = -1, None
        if self.positions is not None:
            self.positions.note(entry)
        del equivalence.members[entry.key]
        if equivalence.members:
            return False
        equivalence.parked = False
        self.parked.pop(equivalence, None)
        del self.classes[equivalence.key]
        if not self.classes:
            self.lanes = {}
        return True

    def head(self) -> Entry | None:
        """Return the first active entry, or None."""
        if len(self.lanes) == 1:
            (lane,) = self.lanes.values()
            return lane.head()
        heads = [(head, lane) for lane in self.lanes.values() if (head := lane.head()) is not None]
        if not heads:
            return None
        return min(heads, key=lambda h: h[1].place(h[0], self.ask))[0]

    def park(self, equivalence: EquivalenceClass) -> None:
        """Park a class until it is woken."""
        equivalence.parked = True
        self.parked[equivalence] = None

    def wake(self, equivalence: EquivalenceClass) -> None:
        """Make a class active again."""
        equivalence.parked = False
        self.parked.pop(equivalence, None)
        self._activate(equivalence)

    def set_aside(self, entry: Entry) -> None:
        """Leave an entry out until the end of this round."""
        self.aside.append(entry)
        entry.seq = -1

    def take_aside(self) -> list[Entry]:
        """Return the entries that were left out and still wait, to be pushed again."""
        aside, self.aside = self.aside, []
        return [e for e in aside if e.status == Status.WAITING and e.pending_queue is self and e.seq < 0]

    def place_of(self) -> Callable[[Entry], Key]:
        """Return the function that gives an entry's sort key among all that wait."""
        return self.ask.rank if len(self.lanes) > 1 else _rank

    def before(self, place: Key) -> int:
        """Count the entries that wait before a place, as `place_of` gives it."""
        if self.positions is None:
            self.positions = Positions(self.waiting(), self._standing)
        return self.positions.before(place, self.ask.rank if len(self.lanes) > 1 else None)

    def _standing(self, entry: Entry) -> tuple[str, Key] | None:
        """Return the lane and rank of an entry; None if it no longer waits here."""
        equivalence = entry.equivalence
        if equivalence is None or equivalence.pending_queue is not self:
            return None
        return equivalence.lane, entry.rank

    def heads(self) -> Iterator[Entry]:
        """Yield the first waiting entry of each class, in no order."""
        return filter(None, map(EquivalenceClass.head, self.classes.values()))

    def first(self, heads: Iterable[Entry], most: int) -> list[Entry]:
        """Return the first `most` waiting entries, in order, of the classes with these heads."""
        place = self.place_of()
        nearest = nsmallest(most, heads, key=place)
        classes = [head.equivalence.in_order() for head in nearest if head.equivalence is not None]
        return list(islice(merge(*classes, key=place), most))

    def waiting(self) -> Iterator[Entry]:
        """Yield all waiting entries, in no order."""
        for equivalence in self.classes.values():
            yield from equivalence.members.values()


def _rank(entry: Entry) -> Key:
    return entry.rank
