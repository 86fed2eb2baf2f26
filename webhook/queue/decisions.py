"""What the core decided, and why: values only. The CLI, the warning, the condition, the metric show these records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webhook.queue.model import PodSetAssignment


class Reason(StrEnum):
    """Why a workload has no quota."""

    WAITING_FOR_QUOTA = "WaitingForQuota"
    WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    NO_MATCHING_FLAVOR = "NoMatchingFlavor"
    MISCONFIGURED = "Misconfigured"
    SUSPENDED = "Suspended"
    NOT_CONSIDERED = "PendingEvaluation"
    BEHIND_HEAD = "BehindHead"
    BACKOFF = "Backoff"
    WAITING_FOR_PODS_READY = "WaitingForPodsReady"
    DENIED_BY_RULE = "DeniedByRule"
    RULE_FAILED = "RuleFailed"
    CHECKS_PENDING = "ChecksPending"


class PendingPlace(StrEnum):
    """Where a pending workload stands: in the heap, parked until something changes, or in no queue."""

    ACTIVE = "active"
    INADMISSIBLE = "inadmissible"
    NONE = "none"


class Why(StrEnum):
    """Why a workload was preempted (the reason of Kueue's `Preempted` condition)."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    RECLAIM = "InCohortReclamation"
    FAIR_SHARING = "InCohortFairSharing"
    RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds quota that a pending workload would need, and when it is expected to end (milliseconds, or None)."""

    workload: str
    cluster_queue: str
    amount: int
    ends: int | None = None


@dataclass(frozen=True, slots=True)
class Shortage:
    """One flavor and resource of one pod set, in numbers: amounts in the model's units.

    `free` is what the queue could use now, `most` what it could ever use, `borrowed` what it borrows already.
    `holders` hold what must end first, the earliest end first. `beside` is the part of `asked` of pod sets before.
    """

    pod_set: str
    flavor: str
    resource: str
    asked: int
    free: int
    most: int
    nominal: int
    borrowed: int = 0
    note: str = ""
    holders: tuple[Holder, ...] = ()
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """A workload got its quota; `admitted` is False while admission checks are open (quota reserved only)."""

    workload: str
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]
    admitted: bool = True
    borrowing: bool = False


@dataclass(frozen=True, slots=True)
class Preempted:
    """A workload must give its quota back, for the good of `preemptor`."""

    workload: str
    cluster_queue: str
    reason: Why
    preemptor: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A workload still waits: why, in numbers, at which place of its queue (from 1; 0: none), until when perhaps.

    `start` is an estimate in milliseconds; where there is none, `start_unknown` says why in words, with the workload in
    them that it depends on: `start_job`. `outcome` is how the last look at it ended, in the word that rules know; ""
    where it was not looked at.
    """

    workload: str
    cluster_queue: str
    place: PendingPlace
    reason: Reason
    message: str = ""
    shortages: tuple[Shortage, ...] = ()
    position: int = 0
    start: int | None = None
    outcome: str = ""
    start_unknown: str = ""
    start_job: str = ""


@dataclass(frozen=True, slots=True)
class Evicted:
    """A workload must give its quota back because a rule of `evict` says so; `message` is the rule's, or empty.

    `requeue_at` is the time before which it is not looked at again, where its pods were not ready in time; else 0.
    """

    workload: str
    cluster_queue: str
    reason: str
    message: str = ""
    requeue_at: int = 0


@dataclass(frozen=True, slots=True)
class FailedRule:
    """A rule of `evict` failed on a workload that holds quota: it is not evicted by that one. `message` says which."""

    workload: str
    message: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """The outcome of one call. `complete` is False where the budget ran out: call again to go on.

    `admitted` got their quota now; `ready` had it before, and their last admission check came ready.
    `waiting` were looked at and wait on; `explain` says why. `next_at` is the time at which something must be decided
    though nothing changes (milliseconds), None where there is none. `failed` are rules that
    failed on work that holds quota; `explain` tells of those that failed on work that waits.
    """

    admitted: tuple[Admitted, ...] = ()
    preempted: tuple[Preempted, ...] = ()
    evicted: tuple[Evicted, ...] = ()
    ready: tuple[Admitted, ...] = ()
    waiting: tuple[str, ...] = ()
    complete: bool = True
    next_at: int | None = None
    failed: tuple[FailedRule, ...] = ()
