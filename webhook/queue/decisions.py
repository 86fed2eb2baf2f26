"""The decisions of the core and their reasons, as values. CLI, warnings, conditions and metrics are made from them."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Where a pending workload is: active in its queue, parked until something changes, or in no queue."""

    ACTIVE = "active"
    INADMISSIBLE = "inadmissible"
    NONE = "none"


class PreemptionReason(StrEnum):
    """Why a workload was preempted (the reason of Kueue's `Preempted` condition)."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    RECLAIM = "InCohortReclamation"
    FAIR_SHARING = "InCohortFairSharing"
    RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that holds quota which a pending one needs, and when it is expected to end (milliseconds, or None)."""

    workload: str
    cluster_queue: str
    amount: int
    ends: int | None = None


@dataclass(frozen=True, slots=True)
class Shortage:
    """One flavor and resource of one pod set, in numbers: amounts in the model's units.

    `free` is what the queue can use now, `most` what it can use at most, `borrowed` what it already borrows.
    `holders` are the workloads that must end first, the earliest end first; `enough`: no others must. `beside` is the
    part of `asked` that earlier pod sets of the same workload request.
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
    enough: bool = False


@dataclass(frozen=True, slots=True)
class Admitted:
    """A workload got its quota; `admitted` is False while admission checks are pending (quota reserved only)."""

    workload: str
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]
    admitted: bool = True
    borrowing: bool = False


@dataclass(frozen=True, slots=True)
class Preempted:
    """A workload must release its quota for `preemptor`."""

    workload: str
    cluster_queue: str
    reason: PreemptionReason
    preemptor: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A workload that still waits: the reason, the shortages, its position in its queue (from 1; 0: none).

    `message` is empty if the shortages say it all. `start` is the estimated start in milliseconds. Without one,
    `start_unknown` says why and `start_job` is the workload named there, or else `start_blocked` is how it will stand
    when nothing moves any more. `outcome` is the `HeadOutcome` of the last look at it, "" if there was none.
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
    start_blocked: Pending | None = None


@dataclass(frozen=True, slots=True)
class Evicted:
    """A workload must release its quota because an `evict` rule says so; `message` is the rule's, or empty.

    `requeue_at` is the end of its back-off (milliseconds) if its pods were not ready in time; else 0.
    """

    workload: str
    cluster_queue: str
    reason: str
    message: str = ""
    requeue_at: int = 0


@dataclass(frozen=True, slots=True)
class FailedRule:
    """An `evict` rule failed on a workload that holds quota and so does not evict it. `message` names the rule."""

    workload: str
    message: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """The outcome of one call. `complete` is False if the budget ran out: call again to continue.

    `admitted` got quota in this call; `ready` had quota, and their last admission check became ready.
    `waiting` were looked at and still wait; `explain` says why. `next_at` is the next time (milliseconds) at which to
    decide even if nothing changes, None if there is none. `failed` are rules that failed on workloads that hold quota;
    `explain` reports those that failed on waiting workloads.
    """

    admitted: tuple[Admitted, ...] = ()
    preempted: tuple[Preempted, ...] = ()
    evicted: tuple[Evicted, ...] = ()
    ready: tuple[Admitted, ...] = ()
    waiting: tuple[str, ...] = ()
    complete: bool = True
    next_at: int | None = None
    failed: tuple[FailedRule, ...] = ()

    def gone(self) -> Iterator[tuple[str, str]]:
        """Yield who must release its quota, and why."""
        for preempted in self.preempted:
            yield preempted.workload, preempted.reason
        for evicted in self.evicted:
            yield evicted.workload, evicted.reason
