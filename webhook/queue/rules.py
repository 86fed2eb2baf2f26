"""The rule points: the questions that the engine asks, each answered by one expression of a QueuePolicy.

The engine does the recursion over the tree, the search for flavors and the tournament; every condition, order and
number in them comes from these rules. `webhook.policy.queue_rules` implements them by CEL expressions; its `points.py`
says where each stands in a file. Those of Kueue are in `policies/queue/kueue/policy.yaml`, those of its fair sharing in
`policies/queue/kueue-fair/policy.yaml`.
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
    """Why a head was not admitted in a cycle.

    `FlavorsLeft`: it did not fit, but the search ended early and resumes with the next flavor in the next look.
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

    A rule may raise one of `failures`: the workload it was asked about then waits, and the rest is decided without it.
    """

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions that a rule point may raise."""

    def failed(self, error: Exception) -> str:
        """Return the message for a rule that failed: its name, its place (file, line, column) and the error."""

    @property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """The fields that each point's expressions read, by the point's method: `workload.user`, `queue.name`, `now`.

        Fields have their names in the core. The set may name too many fields, never too few.
        """

    @property
    def clock(self) -> Mapping[str, int]:
        """The step in milliseconds at whose multiples the answer of a point that reads `now` may change.

        1 means at any time. The answer of a point that is not named does not change as time passes.
        """

    @property
    def usage_apart(self) -> bool:
        """Whether `usage` is a key of its own in `order`, so that it orders LocalQueues, not workloads within one."""

    @property
    def fair(self) -> bool:
        """Whether fair sharing is on: shares order the heads of different queues and decide who may be evicted."""

    @property
    def strategies(self) -> tuple[str, ...]:
        """The preemption strategies of fair sharing, passed to `allowed` in this order (at most two)."""

    @property
    def partial(self) -> bool:
        """Whether pod sets with a minCount may start with fewer pods."""

    @property
    def recompute(self) -> bool:
        """Whether victims are searched for again if another workload took them in the same cycle."""

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
        """Whether usage is counted even if no rule reads it, for the status of the queues."""

    @property
    def conditional(self) -> bool:
        """Whether there is any condition in `admit`."""

    @property
    def hold(self) -> bool:
        """Whether a reservation lasts until its head is admitted, and others may pass it (`for: UntilAdmitted`)."""

    def order(self, workload: Workload, queue: ClusterQueue, now: int, usage: float) -> Key:
        """Return the keys by which pending work of one queue is ordered; `usage` is its LocalQueue's decayed share."""

    def across(self, workload: Workload, queue: ClusterQueue, placement: Placement, facts: UsageFacts) -> Key:
        """Return the keys between the heads of different queues."""

    def tournament(self, workload: Workload, queue: ClusterQueue, contest: Contest, facts: UsageFacts) -> Key:
        """Return the keys between heads at one level of the tree (fair sharing only)."""

    def strict(self, workload: Workload, queue: ClusterQueue) -> bool:
        """Return whether a head that does not fit blocks those behind it."""

    def admit(self, workload: Workload, queue: ClusterQueue, facts: UsageFacts, now: int) -> AdmitDenial | None:
        """Return the first condition that does not hold, or None."""

    def evict(self, workload: Workload, queue: ClusterQueue, local: LocalQueue, now: int) -> Departure | None:
        """Return why a workload that holds quota must give it back now, or else what will hold soonest, or None."""

    def reserves(self, workload: Workload, queue: ClusterQueue, outcome: str) -> bool:
        """Return whether a head that could not be placed reserves quota for the rest of the cycle."""

    def reserved(self, cell: Cell, usage: int, asked: int, borrow: int) -> int:
        """Return how much of a cell such a head reserves."""

    def yields(self, workload: Workload, begins: int, at: int) -> bool:
        """Return whether a workload may use, `at` this time, what is reserved for a head that starts at `begins`."""

    def park(self, workload: Workload, queue: ClusterQueue, outcome: str) -> bool:
        """Return whether a head waits for an event (True), or stays active and is looked at again in the next cycle."""

    def guaranteed(self, cell: Cell) -> int:
        """Return how much of its quota a node never lends (by its lending limit)."""

    def available(self, cell: Cell, usage: int, parent: int) -> int:
        """Return how much more may be used at a node; `parent` is the same of its parent (0 at the root)."""

    def most(self, cell: Cell, parent: int) -> int:
        """Return how much a node could use if the tree were empty; `parent` as in `available`."""

    def borrows(self, cell: Cell, usage: int) -> bool:
        """Return whether a node with this usage is above its own quota."""

    def eligible(self, pod_set: PodSet, match: Match, queue: ClusterQueue) -> bool:
        """Return whether a pod set may run on a flavor at all."""

    def preference(self, option: Option, queue: ClusterQueue) -> Key:
        """Return the keys by which flavors, and resources within one flavor, are compared; smaller is better."""

    def stop(self, option: Option, queue: ClusterQueue) -> bool:
        """Return whether the search for a flavor ends with this one."""

    def may_preempt(self, cell: Cell, asked: int, queue: ClusterQueue, below_root: bool) -> bool:
        """Return whether victims are searched for if quota is short; `below_root`: a subtree could hold the request."""

    def reach(self, queue: ClusterQueue, reach: Reach) -> bool:
        """Return whether victims are searched for in other queues."""

    def candidate(self, victim: Victim, workload: Workload, queue: ClusterQueue, advantage: bool, now: int) -> str:
        """Return the `Variant` of a victim at a time (milliseconds)."""

    def spares(self, queue: ClusterQueue) -> bool:
        """Return whether `candidate` never takes a workload of a queue for another one of the same queue."""

    def victim_order(self, victim: Victim, workload: Workload, queue: ClusterQueue, variant: str, usage: float) -> Key:
        """Return the keys by which victims are ordered; `usage` is the decayed share of the victim's LocalQueue."""

    def attempts(self, queue: ClusterQueue, found: Found) -> tuple[bool, ...]:
        """Return the attempts to find enough victims: each with (True) or without borrowing."""

    def while_borrowing(self, variant: str) -> bool:
        """Return whether a kind of victim may be taken in an attempt with borrowing."""

    def entitled(self, cell: Cell, usage: int) -> bool:
        """Return whether a preemptor with this usage (its request included) takes victims whatever the shares."""

    def allowed(self, strategy: str, shares: Shares) -> bool:
        """Return whether fair sharing lets the victim be taken."""

    def ratio(self, borrowed: int, lendable: int) -> float:
        """Return the unweighted share of one resource."""

    def share(self, ratio: float, weight: int, borrowing: bool) -> float:
        """Return the number that shares are compared by; `weight` in billionths."""

    def requeue(self, workload: Workload, now: int) -> int:
        """Return the end of the back-off (milliseconds) of an evicted workload."""
