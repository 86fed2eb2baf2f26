"""One ClusterQueue's own part of the state: what holds its quota, and what waits, in order, by classes.

Waiting workloads that ask the same at the same priority are one equivalence class: when its first does not fit, none
does, and the whole class is set aside in one step until something it looked at changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Final

from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.flavors.request_plan import RequestPlan
from webhook.queue.flavors.search import Assignment
from webhook.queue.model import Admission, ClusterQueue, Workload
from webhook.queue.pending.positions import Positions
from webhook.queue.quota.tree import Amounts, TreeNode
from webhook.queue.rules import HeadOutcome, Key, Victim

SLACK: Final = 16
"""Places of entries that went elsewhere may make up half of a heap, and so many more, before it is built again."""


class Status(IntEnum):
    """Where a workload stands in the state."""

    OUT = 0
    WAITING = 1
    BACKOFF = 2
    HOLDING = 3


@dataclass(slots=True, eq=False)
class HeadVerdict:
    """Why a head was not admitted when it was last looked at; kept for explaining and for waking up.

    `stuck`: it stays in front, and nobody behind it passes.
    """

    reason: Reason
    outcome: HeadOutcome
    message: str = ""
    assignment: Assignment | None = None
    place: PendingPlace = PendingPlace.ACTIVE
    stuck: bool = False


@dataclass(frozen=True, slots=True)
class FlavorProgress:
    """Where a search for flavors ended early: after which flavor of each group, and in which cycle and generation."""

    tried: Mapping[tuple[str, int], int]
    cycle: int
    generation: int


@dataclass(slots=True, eq=False)
class Entry:
    """A workload in the state. `amounts` is what it uses of its tree, `rank` its place among the waiting.

    `seq` tells its place in the heap of its class from those it had before; -1 is none. `until` ends its back-off.
    `progress` says where its next search for flavors goes on. `failed`: a rule failed on it before it could be put in
    order, `why_out` says which. `evict_at`: when a rule is asked again whether it must give its quota back.
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
    why_out: str = ""
    failed: bool = False
    progress: FlavorProgress | None = None
    seq: int = -1
    until: int = 0
    evict_at: int = 0

    def plan(self) -> RequestPlan:
        """Give what a waiting entry asks for."""
        assert self.equivalence is not None
        return self.equivalence.plan


@dataclass(slots=True, eq=False)
class EquivalenceClass:
    """Waiting workloads that are alike. `blocked` ones wait for what `watch` says: (place, amount) pairs.

    `preempts`: victims were looked for, in other queues too where `reclaims`; `barred`: none were where quota was
    short, as a rule said no (`mayPreempt`); `volatile`: any change may help.
    """

    key: Hashable
    plan: RequestPlan
    pending_queue: PendingQueue
    lane: str = ""
    heap: list[tuple[Key, int, Entry]] = field(default_factory=list)
    members: dict[str, Entry] = field(default_factory=dict)
    blocked: bool = False
    verdict: HeadVerdict | None = None
    watch: tuple[tuple[int, int], ...] = ()
    preempts: bool = False
    reclaims: bool = False
    barred: bool = False
    volatile: bool = False

    def head(self) -> Entry | None:
        """Give the first waiting entry; places of entries that went elsewhere meanwhile are dropped here."""
        heap = self.heap
        while heap:
            _, seq, entry = heap[0]
            if entry.seq == seq:
                return entry
            heappop(heap)
        return None

    def place(self, entry: Entry, seq: int) -> None:
        """Give an entry a place in the order; the one it had before counts no more."""
        self.members[entry.key] = entry
        entry.seq = seq
        heappush(self.heap, (entry.rank, seq, entry))
        if len(self.heap) > 2 * len(self.members) + SLACK:
            self.heap = [(e.rank, e.seq, e) for e in self.members.values() if e.seq >= 0]
            heapify(self.heap)

    def any(self) -> Workload:
        """Give one of the workloads."""
        return next(iter(self.members.values())).workload


@dataclass(frozen=True, slots=True)
class LaneKeys:
    """What lanes are compared by: the decayed share of an entry's LocalQueue, and its place among all of them."""

    share: Callable[[Entry], float]
    rank: Callable[[Entry], Key]


class Lane:
    """The active classes of one LocalQueue, or of all where none of them goes before another as such.

    `known` is the place of the first entry among all lanes, as it was worked out last: for which entry and share.
    """

    __slots__ = ("heap", "known")

    def __init__(self) -> None:
        self.heap: list[tuple[Key, int, EquivalenceClass]] = []
        self.known: tuple[int, float, Key] = (-1, 0.0, ())

    def place(self, entry: Entry, ask: LaneKeys) -> Key:
        """Give the place of the first entry among all lanes."""
        share = ask.share(entry)
        if self.known[:2] != (entry.seq, share):
            self.known = entry.seq, share, ask.rank(entry)
        return self.known[2]

    def push(self, equivalence: EquivalenceClass, most: int) -> None:
        """Let a class take part with its first entry; `most` is how many classes there are."""
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
        """Give the first entry of a class that is not parked."""
        heap = self.heap
        while heap:
            _, seq, equivalence = heap[0]
            if equivalence.blocked:
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
    """The queue side of one ClusterQueue. `ask` gives what lanes are compared by.

    `generation` counts what changed in it that may give a search for flavors another answer. `spares`: what waits here
    evicts nothing of the queue itself, whatever both are.
    """

    __slots__ = (
        "aside",
        "ask",
        "blocked",
        "classes",
        "generation",
        "holders",
        "inactive",
        "lanes",
        "node",
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
        self.blocked: dict[EquivalenceClass, None] = {}
        self.aside: list[Entry] = []
        self.holders: dict[str, Entry] = {}
        self.inactive = inactive
        self.seen: dict[tuple[int, int], tuple[Key, bool]] = {}
        self.generation = 0
        self.positions: Positions[Entry] | None = None
        self.spares = False

    def push(self, entry: Entry, seq: int) -> None:
        """Let an entry wait; its class becomes active when it comes before all that was found not to fit."""
        equivalence = entry.equivalence
        assert equivalence is not None
        first = equivalence.head()
        equivalence.place(entry, seq)
        if self.positions is not None:
            self.positions.note(entry)
        if first is None or entry.rank < first.rank:
            if equivalence.blocked:
                self.unblock(equivalence)
            else:
                self._activate(equivalence)

    def move(self, entry: Entry, seq: int) -> None:
        """Let a waiting entry take the place of its new rank; that alone wakes no class that is parked."""
        equivalence = entry.equivalence
        assert equivalence is not None
        equivalence.place(entry, seq)
        if self.positions is not None:
            self.positions.note(entry)
        if not equivalence.blocked:
            self._activate(equivalence)

    def _activate(self, equivalence: EquivalenceClass) -> None:
        if (lane := self.lanes.get(equivalence.lane)) is None:
            lane = self.lanes[equivalence.lane] = Lane()
        lane.push(equivalence, len(self.classes))

    def leave(self, entry: Entry) -> bool:
        """Let an entry wait no longer; a class without members is forgotten: say whether it was."""
        equivalence = entry.equivalence
        assert equivalence is not None
        entry.seq, entry.equivalence = -1, None
        if self.positions is not None:
            self.positions.note(entry)
        del equivalence.members[entry.key]
        if equivalence.members:
            return False
        equivalence.blocked = False
        self.blocked.pop(equivalence, None)
        del self.classes[equivalence.key]
        if not self.classes:
            self.lanes = {}
        return True

    def head(self) -> Entry | None:
        """Give the first active entry, or None."""
        if len(self.lanes) == 1:
            (lane,) = self.lanes.values()
            return lane.head()
        heads = [(head, lane) for lane in self.lanes.values() if (head := lane.head()) is not None]
        if not heads:
            return None
        return min(heads, key=lambda h: h[1].place(h[0], self.ask))[0]

    def block(self, equivalence: EquivalenceClass) -> None:
        """Park a class until it is woken."""
        equivalence.blocked = True
        self.blocked[equivalence] = None

    def unblock(self, equivalence: EquivalenceClass) -> None:
        """Make a class active again."""
        equivalence.blocked = False
        self.blocked.pop(equivalence, None)
        self._activate(equivalence)

    def set_aside(self, entry: Entry) -> None:
        """Leave an entry out for the rest of this round."""
        self.aside.append(entry)
        entry.seq = -1

    def take_aside(self) -> list[Entry]:
        """Give what was left out and still waits, to be pushed again."""
        aside, self.aside = self.aside, []
        return [e for e in aside if e.status == Status.WAITING and e.pending_queue is self and e.seq < 0]

    def place_of(self) -> Callable[[Entry], Key]:
        """Give what tells the place of an entry among all that waits."""
        return self.ask.rank if len(self.lanes) > 1 else _rank

    def before(self, place: Key) -> int:
        """Count who waits before a place, such as `place_of` gives."""
        if self.positions is None:
            self.positions = Positions(self.waiting(), self._standing)
        return self.positions.before(place, self.ask.rank if len(self.lanes) > 1 else None)

    def _standing(self, entry: Entry) -> tuple[str, Key] | None:
        """Give the lane and the rank of an entry; None where it waits here no longer."""
        equivalence = entry.equivalence
        if equivalence is None or equivalence.pending_queue is not self:
            return None
        return equivalence.lane, entry.rank

    def waiting(self) -> Iterator[Entry]:
        """Give all that waits, in no order."""
        for equivalence in self.classes.values():
            yield from equivalence.members.values()


def _rank(entry: Entry) -> Key:
    return entry.rank
