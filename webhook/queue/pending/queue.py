"""One ClusterQueue's own part of the state: what holds its quota, and what waits, in order, by classes.

Waiting workloads that ask the same at the same priority are one equivalence class: when its first does not fit, none
does, and the whole class is set aside in one step until something it looked at changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush

from webhook.queue.decisions import Place, Reason
from webhook.queue.flavors.request_plan import Plan
from webhook.queue.flavors.search import Assignment
from webhook.queue.model import Admission, ClusterQueue, Workload
from webhook.queue.quota.tree import Node
from webhook.queue.rules import Key, Outcome, Victim


class Status(IntEnum):
    """Where a workload stands in the state."""

    OUT = 0
    WAITING = 1
    BACKOFF = 2
    HOLDING = 3


@dataclass(slots=True, eq=False)
class Verdict:
    """Why a head was not admitted when it was last looked at; kept for explaining and for waking up.

    `stuck`: it stays in front, and nobody behind it passes.
    """

    reason: Reason
    outcome: Outcome
    message: str = ""
    assignment: Assignment | None = None
    place: Place = Place.ACTIVE
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

    `progress` says where its next search for flavors goes on. `failed`: a rule failed on it before it could be put in
    order, `why_out` says which.
    """

    workload: Workload
    key: str
    status: Status = Status.OUT
    pending_queue: PendingQueue | None = None
    equivalence: EquivalenceClass | None = None
    rank: Key = ()
    amounts: tuple[tuple[int, int], ...] = ()
    admission: Admission | None = None
    victim: Victim | None = None
    admitted: bool = False
    preemptor: str = ""
    verdict: Verdict | None = None
    why_out: str = ""
    failed: bool = False
    progress: FlavorProgress | None = None
    seq: int = -1

    def plan(self) -> Plan:
        """Give what a waiting entry asks for."""
        assert self.equivalence is not None
        return self.equivalence.plan

    def waits(self, equivalence: EquivalenceClass, seq: int) -> bool:
        """Say whether a place in a class's heap is still this entry's."""
        return self.seq == seq and self.equivalence is equivalence and self.status == Status.WAITING


@dataclass(slots=True, eq=False)
class EquivalenceClass:
    """Waiting workloads of one shape and priority. `blocked` ones wait for what `watch` says: (place, amount) pairs.

    `preempts`: victims were looked for, in other queues too where `reclaims`; `volatile`: any change may help.
    """

    key: Hashable
    plan: Plan
    pending_queue: PendingQueue
    heap: list[tuple[Key, int, Entry]] = field(default_factory=list)
    blocked: bool = False
    verdict: Verdict | None = None
    watch: tuple[tuple[int, int], ...] = ()
    preempts: bool = False
    reclaims: bool = False
    volatile: bool = False

    def head(self) -> Entry | None:
        """Give the first waiting entry; entries that went elsewhere meanwhile are dropped here."""
        heap = self.heap
        while heap:
            _, seq, entry = heap[0]
            if entry.seq == seq and entry.equivalence is self and entry.status == Status.WAITING:
                return entry
            heappop(heap)
        return None


class PendingQueue:
    """The queue side of one ClusterQueue.

    `generation` counts what changed in it that may give a search for flavors another answer.
    """

    __slots__ = ("active", "aside", "blocked", "classes", "generation", "holders", "inactive", "node", "queue", "seen")

    def __init__(self, node: Node, inactive: str = "") -> None:
        assert isinstance(node.definition, ClusterQueue)
        self.node = node
        self.queue: ClusterQueue = node.definition
        self.classes: dict[Hashable, EquivalenceClass] = {}
        self.active: list[tuple[Key, int, EquivalenceClass]] = []
        self.blocked: dict[EquivalenceClass, None] = {}
        self.aside: list[Entry] = []
        self.holders: dict[str, Entry] = {}
        self.inactive = inactive
        self.seen: dict[tuple[int, int], tuple[Key, bool]] = {}
        self.generation = 0

    def push(self, entry: Entry, seq: int) -> None:
        """Let an entry wait; its class becomes active when it comes before all that was found not to fit."""
        equivalence = entry.equivalence
        assert equivalence is not None
        first = equivalence.head()
        entry.seq = seq
        heappush(equivalence.heap, (entry.rank, seq, entry))
        if first is None or entry.rank < first.rank:
            if equivalence.blocked:
                self.unblock(equivalence)
            else:
                heappush(self.active, (entry.rank, seq, equivalence))

    def head(self) -> Entry | None:
        """Give the first active entry, or None."""
        active = self.active
        while active:
            _, seq, equivalence = active[0]
            if equivalence.blocked:
                heappop(active)
                continue
            entry = equivalence.head()
            if entry is not None and entry.seq == seq:
                return entry
            heappop(active)
            if entry is not None:
                heappush(active, (entry.rank, entry.seq, equivalence))
        return None

    def block(self, equivalence: EquivalenceClass) -> None:
        """Park a class until it is woken."""
        equivalence.blocked = True
        self.blocked[equivalence] = None

    def unblock(self, equivalence: EquivalenceClass) -> None:
        """Make a class active again."""
        equivalence.blocked = False
        self.blocked.pop(equivalence, None)
        if (entry := equivalence.head()) is not None:
            heappush(self.active, (entry.rank, entry.seq, equivalence))

    def set_aside(self, entry: Entry) -> None:
        """Leave an entry out for the rest of this round."""
        self.aside.append(entry)
        entry.seq = -1

    def take_aside(self) -> list[Entry]:
        """Give what was left out and still waits, to be pushed again."""
        aside, self.aside = self.aside, []
        return [entry for entry in aside if entry.status == Status.WAITING and entry.pending_queue is self]

    def reorder(self) -> None:
        """Build the heaps again after ranks changed."""
        self.active = []
        for equivalence in self.classes.values():
            equivalence.heap = [(e.rank, seq, e) for _, seq, e in equivalence.heap if e.waits(equivalence, seq)]
            heapify(equivalence.heap)
            if (first := equivalence.head()) is not None and not equivalence.blocked:
                self.active.append((first.rank, first.seq, equivalence))
        heapify(self.active)

    def waiting(self) -> Iterator[Entry]:
        """Give all that waits, in no order."""
        for equivalence in self.classes.values():
            for _, seq, entry in equivalence.heap:
                if entry.waits(equivalence, seq):
                    yield entry
        for entry in self.aside:
            if entry.status == Status.WAITING:
                yield entry
