"""What may be ruled by a file: the questions the engine asks, each answered by one expression of a QueuePolicy.

The engine does the recursion over the tree, the search for flavors and the tournament; every condition, order and
number in them is asked here. `policy.queue_rules` binds CEL to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Protocol

from webhook.queue.model import NOTHING, ClusterQueue, Flavor, LocalQueue, Namespace, PodSet, Workload
from webhook.queue.quota.cell import Cell

Key = tuple[Any, ...]
"""Sort keys, ascending. Keys of one rule are comparable with each other."""


class Mode(IntEnum):
    """How a request could be placed on a flavor, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


class Variant(StrEnum):
    """What kind of victim a workload would be."""

    NEVER = "Never"
    WITHIN_QUEUE = "WithinQueue"
    HIERARCHY = "Hierarchy"
    WITHOUT_BORROWING = "WithoutBorrowing"
    WHILE_BORROWING = "WhileBorrowing"


class HeadOutcome(StrEnum):
    """What became of a head in a cycle, where it was not admitted.

    `FlavorsLeft`: it did not fit, but a search ended early, and goes on with the next flavor when looked at again.
    """

    NO_FIT = "NoFit"
    NO_CANDIDATES = "NoCandidates"
    FLAVORS_LEFT = "FlavorsLeft"
    PREEMPTING = "Preempting"
    NO_LONGER_FITS = "NoLongerFits"
    OVERLAP = "Overlap"
    DEFERRED = "Deferred"
    MISCONFIGURED = "Misconfigured"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    SUSPENDED = "Suspended"
    DENIED = "Denied"
    RULE_FAILED = "RuleFailed"


@dataclass(frozen=True, slots=True)
class Option:
    """A flavor for a request: `borrow` is the height of the subtree to borrow from, 0 for the queue itself."""

    mode: int
    borrow: int


@dataclass(frozen=True, slots=True)
class Match:
    """Whether a pod set can use a flavor: the first taint it does not tolerate ("" if none), and its node affinity."""

    flavor: Flavor
    untolerated: str
    affinity: bool


@dataclass(frozen=True, slots=True)
class Placement:
    """The assignment of a head, for the comparison with the heads of other queues."""

    mode: int
    borrow: int
    usage: Mapping[str, int] = NOTHING


@dataclass(slots=True, eq=False)
class Victim:
    """A workload that holds quota, as a victim of preemption."""

    workload: Workload
    cluster_queue: str
    priority: int
    queued_at: int
    reserved_at: int
    uid: str
    evicted: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a workload may preempt in a subtree: facts about its queue and the subtree.

    `parent`: the queue is in a cohort. `advantage`: the request fits in the quota of a smaller subtree. `under`: the
    queue uses less than its nominal quota of every resource that is short.
    """

    parent: bool
    advantage: bool
    under: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Which kinds of victims exist in other queues; `under` as in `Reach`."""

    others: bool
    hierarchy: bool
    under: bool


@dataclass(frozen=True, slots=True)
class Share:
    """How much of what is lent a node borrows. `ratio` is unweighted, `value` is what shares are compared by.

    `borrowing` says whether the node uses more than its quota at all, `infinite` that no weight entitles it to that.
    """

    ratio: float = 0.0
    value: float = 0.0
    borrowing: bool = False
    infinite: bool = False


@dataclass(frozen=True, slots=True)
class Contest:
    """A head under fair sharing, at one level of the tree: the share of its subtree including the head's usage."""

    borrowing: bool
    share: float
    ratio: float
    infinite: bool


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares that fair preemption compares: the preemptor's after admission, the victim's before and after."""

    preemptor: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class AdmitDenial:
    """Why a rule of `admit` keeps a workload waiting; `message` is written by the rule."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Departure:
    """Why a workload must give its quota back, and not before which time (milliseconds; 0: at once).

    `message` is written by the rule, empty where it writes none.
    """

    reason: str
    at: int = 0
    message: str = ""


@dataclass(slots=True)
class UsageFacts:
    """Sums over the workloads that hold quota, for rules.

    Amounts are by resource; `user_usage`, `namespace_usage` and `queue_usage` are those of the workload's own user,
    namespace and ClusterQueue, `user_history`, `namespace_history` and `queue_history` their decayed usage. `unready`
    is how many workloads of the cluster hold quota and have pods that are not ready. `namespace` is None if it is not
    known.
    """

    namespace: Namespace | None = None
    requests: Mapping[str, int] = field(default_factory=dict)
    user_usage: Mapping[str, int] = field(default_factory=dict)
    namespace_usage: Mapping[str, int] = field(default_factory=dict)
    queue_usage: Mapping[str, int] = field(default_factory=dict)
    user_workloads: int = 0
    unready: int = 0
    user_history: Mapping[str, float] = field(default_factory=dict)
    namespace_history: Mapping[str, float] = field(default_factory=dict)
    queue_history: Mapping[str, float] = field(default_factory=dict)


class Rules(Protocol):
    """The rule points. All are pure: the same arguments give the same answer.

    A rule may fail with one of `failures`: whatever it was asked about waits then, and the rest is decided without it.
    """

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What a rule point may raise."""

    def failed(self, error: Exception) -> str:
        """Say which rule failed, where it stands (file, line, column) and how."""

    @property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """What the expressions of each point read, by the point's method: `workload.user`, `queue.name`, `now`.

        Fields have their names in the core; never too few, perhaps too many.
        """

    @property
    def clock(self) -> Mapping[str, int]:
        """How often the answer of a point that reads `now` may change, in milliseconds: at multiples of it only.

        1 is at any time. A point that is not named does not change as time passes.
        """

    @property
    def usage_apart(self) -> bool:
        """Whether `usage` is a key of its own in `order`, so that it decides between LocalQueues, never within one."""

    @property
    def fair(self) -> bool:
        """Heads of different queues meet in a tournament of shares, and shares decide who may be evicted."""

    @property
    def strategies(self) -> tuple[str, ...]:
        """Names of the comparisons of `allowed`, in the order they are tried (fair sharing only; at most two)."""

    @property
    def partial(self) -> bool:
        """Whether pod sets with a minCount may start with fewer pods."""

    @property
    def recompute(self) -> bool:
        """Whether victims are looked for again where another workload took them in the same cycle."""

    @property
    def half_life(self) -> int:
        """Milliseconds in which decayed usage halves; 0 is no decay."""

    @property
    def sampling(self) -> int:
        """Milliseconds between two writes of decayed usage; a new admission counts as running for so long at once."""

    @property
    def resource_weights(self) -> Mapping[str, float]:
        """How much a unit of a resource counts in decayed usage; 1 where it is not named."""

    @property
    def metered(self) -> bool:
        """Whether usage is counted where no rule reads it, for the status of the queues."""

    @property
    def conditional(self) -> bool:
        """Whether there is any condition in `admit`."""

    @property
    def hold(self) -> bool:
        """Whether what `reserves` speaks for is held until the head is admitted, while others of its queue pass."""

    def order(self, workload: Workload, queue: ClusterQueue, now: int, usage: float) -> Key:
        """Give the keys by which pending work of one queue is ordered; `usage` is its LocalQueue's decayed share."""

    def across(self, workload: Workload, queue: ClusterQueue, placement: Placement, facts: UsageFacts) -> Key:
        """Give the keys between the heads of different queues."""

    def tournament(self, workload: Workload, queue: ClusterQueue, contest: Contest, facts: UsageFacts) -> Key:
        """Give the keys between heads at one level of the tree (fair sharing only)."""

    def strict(self, workload: Workload, queue: ClusterQueue) -> bool:
        """Say whether a head that does not fit blocks those behind it."""

    def admit(self, workload: Workload, queue: ClusterQueue, facts: UsageFacts, now: int) -> AdmitDenial | None:
        """Give the first condition that does not hold, or None."""

    def evict(self, workload: Workload, queue: ClusterQueue, local: LocalQueue, now: int) -> Departure | None:
        """Give why a workload that holds quota must give it back now, or else what will hold soonest, or None."""

    def reserves(self, workload: Workload, queue: ClusterQueue, outcome: str) -> bool:
        """Say whether a head that could not be placed holds capacity for the rest of the cycle."""

    def reserved(self, cell: Cell, usage: int, asked: int, borrow: int) -> int:
        """Give how much of a cell such a head holds."""

    def yields(self, workload: Workload, begins: int, at: int) -> bool:
        """Say whether a workload may use now (`at`) what is held for a head that starts at `begins`, 0 if unknown."""

    def park(self, workload: Workload, queue: ClusterQueue, outcome: str) -> bool:
        """Say whether a head waits for an event (True), or stays active and is looked at again in the next cycle."""

    def guaranteed(self, cell: Cell) -> int:
        """Give how much of its quota a node never lends."""

    def available(self, cell: Cell, usage: int, parent: int) -> int:
        """Give how much more may be used at a node; `parent` is the same number of its parent (0 at the root)."""

    def most(self, cell: Cell, parent: int) -> int:
        """Give how much a node could use of an empty tree; `parent` as in `available`."""

    def borrows(self, cell: Cell, usage: int) -> bool:
        """Say whether a node with this usage is above its own quota."""

    def eligible(self, pod_set: PodSet, match: Match, queue: ClusterQueue) -> bool:
        """Say whether a pod set may run on a flavor at all."""

    def preference(self, option: Option, queue: ClusterQueue) -> Key:
        """Give the keys by which flavors, and resources within one flavor, are compared: the smaller the better."""

    def stop(self, option: Option, queue: ClusterQueue) -> bool:
        """Say whether the search for a flavor ends with this one."""

    def may_preempt(self, cell: Cell, asked: int, queue: ClusterQueue, below_root: bool) -> bool:
        """Say whether victims are looked for where quota is short; `below_root`: a subtree could hold the request."""

    def reach(self, queue: ClusterQueue, reach: Reach) -> bool:
        """Say whether victims are looked for in other queues."""

    def candidate(self, victim: Victim, workload: Workload, queue: ClusterQueue, advantage: bool, now: int) -> str:
        """Give the `Variant` of a victim at a time (milliseconds)."""

    def spares(self, queue: ClusterQueue) -> bool:
        """Say whether `candidate` takes no work of a queue for other work of the same queue, whatever both are."""

    def victim_order(self, victim: Victim, workload: Workload, queue: ClusterQueue, variant: str, usage: float) -> Key:
        """Give the keys by which victims are taken; `usage` is the decayed share of the victim's LocalQueue."""

    def attempts(self, queue: ClusterQueue, found: Found) -> tuple[bool, ...]:
        """Give the attempts to find enough victims: each with (True) or without borrowing."""

    def while_borrowing(self, variant: str) -> bool:
        """Say whether a kind of victim may be taken in an attempt with borrowing."""

    def entitled(self, cell: Cell, usage: int) -> bool:
        """Say whether a preemptor with this usage (its request included) takes victims whatever the shares."""

    def allowed(self, strategy: str, shares: Shares) -> bool:
        """Say whether fair sharing lets the victim be taken."""

    def ratio(self, borrowed: int, lendable: int) -> float:
        """Give the unweighted share of one resource."""

    def share(self, ratio: float, weight: int, borrowing: bool) -> float:
        """Give the number that shares are compared by; `weight` in billionths."""

    def requeue(self, workload: Workload, now: int) -> int:
        """Give the time (milliseconds) before which an evicted workload is not looked at."""
