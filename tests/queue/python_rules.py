"""The rules of Kueue in hand-written Python: what rule files are compared with, and timed by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.queue.model import ClusterQueue, LocalQueue, PodSet, Preemption, Workload
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import (
    AdmitDenial,
    Contest,
    Departure,
    Found,
    HeadOutcome,
    Key,
    Match,
    Mode,
    Option,
    Placement,
    Reach,
    Shares,
    UsageFacts,
    Variant,
    Victim,
)

FINAL = "LessThanOrEqualToFinalShare"
INITIAL = "LessThanInitialShare"
STAYS = frozenset(
    {
        HeadOutcome.PREEMPTING,
        HeadOutcome.NO_LONGER_FITS,
        HeadOutcome.OVERLAP,
        HeadOutcome.DEFERRED,
        HeadOutcome.FLAVORS_LEFT,
    }
)
NO_FIT: Key = (2, 0, 0)
BACKOFF_BASE, BACKOFF_MOST = 60_000, 3_600_000
_COMPARED = ("victim.cluster_queue", "queue.name", "victim.priority", "workload.priority", "victim.queued_at")
STOPS = ("queue.stop_policy", "localQueue.stop_policy")
READS: Mapping[str, tuple[str, ...]] = {
    "order": ("workload.first", "queue.queueing_strategy", "usage", "workload.priority", "workload.queued_at"),
    "across": ("workload.first", "placement.borrow", "workload.priority", "workload.queued_at"),
    "tournament": ("workload.first", "contest", "workload.priority", "workload.queued_at"),
    "candidate": ("queue.preemption", "advantage", *_COMPARED, "workload.queued_at"),
    "victim_order": ("victim", "queue.name", "variant", "usage"),
    "evict": (*(f"workload.{name}" for name in ("active", "deadline", "checks", "admitted")), *STOPS),
    "requeue": (*(f"workload.{name}" for name in ("requeue_at", "requeue_count", "evicted_reason")), "at"),
}
"""What the points read of single workloads; the others read of their queue, or of amounts."""


@dataclass(frozen=True, slots=True)
class KueueRules:
    """Kueue's semantics: classic preemption, or with `fair` fair sharing. The fields are its feature gates."""

    fair: bool = False
    strategies: tuple[str, ...] = (FINAL, INITIAL)
    partial: bool = True
    recompute: bool = True
    half_life: int = 0
    sampling: int = 300_000
    resource_weights: Mapping[str, float] = field(default_factory=dict)
    metered: bool = False
    conditional: bool = False
    hold: bool = False
    by_priority: bool = True
    preemptors_first: bool = True
    nominal_first: bool = True
    within_nominal: bool = True
    fungible: bool = True
    failures: tuple[type[Exception], ...] = ()

    def failed(self, error: Exception) -> str:
        """Say how a rule failed; these do not."""
        return str(error)

    @property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """What the points read of workloads, and whether they read usage."""
        return {point: frozenset(fields) for point, fields in READS.items()}

    @property
    def clock(self) -> Mapping[str, int]:
        """How often answers change as time passes; none does."""
        return {}

    @property
    def usage_apart(self) -> bool:
        """Usage is a key of its own."""
        return True

    def order(self, workload: Workload, queue: ClusterQueue, now: int, usage: float) -> Key:
        """Order by whom others are evicted for, decayed usage (where the queue asks for it), priority, age."""
        late = not (workload.first and queue.queueing_strategy == "BestEffortFIFO")
        return (late, usage, -workload.priority, workload.queued_at)

    def across(self, workload: Workload, queue: ClusterQueue, placement: Placement, facts: UsageFacts) -> Key:
        """Order by whom others are evicted for, the height borrowed from, priority, age."""
        late = self.preemptors_first and not workload.first
        return (late, placement.borrow, -workload.priority if self.by_priority else 0, workload.queued_at)

    def tournament(self, workload: Workload, queue: ClusterQueue, contest: Contest, facts: UsageFacts) -> Key:
        """Order those within nominal first, then by share, priority, age."""
        return (
            self.preemptors_first and not workload.first,
            self.nominal_first and contest.borrowing,
            contest.infinite,
            contest.ratio if contest.infinite else contest.share,
            -workload.priority if self.by_priority else 0,
            workload.queued_at,
        )

    def strict(self, workload: Workload, queue: ClusterQueue) -> bool:
        """Block behind a head that does not fit under StrictFIFO."""
        return queue.queueing_strategy == "StrictFIFO"

    def admit(self, workload: Workload, queue: ClusterQueue, facts: UsageFacts, now: int) -> AdmitDenial | None:
        """Deny nothing."""
        return None

    def evict(self, workload: Workload, queue: ClusterQueue, local: LocalQueue, now: int) -> Departure | None:
        """Evict what was set inactive, is out of time, failed a check, or whose queue is drained."""
        if not workload.active:
            return Departure("Deactivated")
        if 0 < workload.deadline <= now:
            return Departure("DeactivatedDueToMaximumExecutionTimeExceeded")
        if not {"Retry", "Rejected"}.isdisjoint(workload.checks.values()):
            return Departure("AdmissionCheck")
        if workload.admitted and queue.stop_policy == "HoldAndDrain":
            return Departure("ClusterQueueStopped")
        if workload.admitted and local.stop_policy == "HoldAndDrain":
            return Departure("LocalQueueStopped")
        return Departure("", workload.deadline) if workload.deadline else None

    def reserves(self, workload: Workload, queue: ClusterQueue, outcome: str) -> bool:
        """Hold capacity for a head without victims, unless its queue can always reclaim and it had none before."""
        preempts = self.preemptors_first and workload.first
        return outcome == HeadOutcome.NO_CANDIDATES and (preempts or not self.reclaims_always(queue))

    def reserved(self, cell: Cell, usage: int, asked: int, borrow: int) -> int:
        """Hold up to the borrowing limit, or up to nominal where nothing is borrowed."""
        if borrow == 0:
            return max(0, min(asked, cell.nominal_quota - usage))
        if cell.borrowing_limit < 0:
            return asked
        return min(asked, cell.nominal_quota + cell.borrowing_limit - usage)

    def yields(self, workload: Workload, begins: int, at: int) -> bool:
        """Let nobody use what a head holds."""
        return False

    def park(self, workload: Workload, queue: ClusterQueue, outcome: str) -> bool:
        """Park what plainly does not fit under BestEffortFIFO; under StrictFIFO only a namespace mismatch."""
        if queue.queueing_strategy == "StrictFIFO":
            return outcome == HeadOutcome.NAMESPACE_MISMATCH
        return outcome not in STAYS

    def guaranteed(self, cell: Cell) -> int:
        """Keep what is above the lending limit."""
        return max(0, cell.subtree - cell.lending_limit) if cell.lending_limit >= 0 else 0

    def available(self, cell: Cell, usage: int, parent: int) -> int:
        """Add what the parent has, within the borrowing limit, to the unused guaranteed quota."""
        if cell.root:
            return cell.subtree - usage
        guaranteed = cell.guaranteed
        if cell.borrowing_limit >= 0:
            bound = cell.subtree - guaranteed - max(0, usage - guaranteed) + cell.borrowing_limit
            parent = min(parent, bound)
        return parent + guaranteed - usage if usage < guaranteed else parent

    def most(self, cell: Cell, parent: int) -> int:
        """Bound guaranteed quota and the parent's by the borrowing limit."""
        if cell.root:
            return cell.subtree
        most = cell.guaranteed + parent
        return min(most, cell.subtree + cell.borrowing_limit) if cell.borrowing_limit >= 0 else most

    def borrows(self, cell: Cell, usage: int) -> bool:
        """Borrow what goes beyond the subtree's quota."""
        return usage > cell.subtree

    def eligible(self, pod_set: PodSet, match: Match, queue: ClusterQueue) -> bool:
        """Need all taints tolerated and the affinity met."""
        return match.untolerated == "" and match.affinity

    def preference(self, option: Option, queue: ClusterQueue) -> Key:
        """Prefer what needs no preemption, then what needs no borrowing, or the other way round."""
        if option.mode == Mode.NO_FIT:
            return NO_FIT
        rank = 1 if option.mode == Mode.NO_CANDIDATES else 0
        if not self.fungible:
            return (rank, -option.mode, 0)
        if queue.fungibility.preference == "PreemptionOverBorrowing":
            return (rank, option.borrow, -option.mode)
        return (rank, -option.mode, option.borrow)

    def stop(self, option: Option, queue: ClusterQueue) -> bool:
        """Stop the search unless nothing can be done here, or the queue asks to try on."""
        if not self.fungible:
            return option.mode == Mode.FIT
        if option.mode <= Mode.NO_CANDIDATES:
            return False
        if option.mode != Mode.FIT and queue.fungibility.when_can_preempt == "TryNextFlavor":
            return False
        return option.borrow == 0 or queue.fungibility.when_can_borrow != "TryNextFlavor"

    def may_preempt(self, cell: Cell, asked: int, queue: ClusterQueue, below_root: bool) -> bool:
        """Need the request within nominal, hierarchical advantage, or leave to preempt while borrowing."""
        if cell.nominal_quota >= asked or below_root:
            return True
        return queue.preemption.borrow_within_cohort.policy != "Never" or (
            self.fair and queue.preemption.reclaim_within_cohort != "Never"
        )

    def reach(self, queue: ClusterQueue, reach: Reach) -> bool:
        """Look into other queues where reclaiming is on and a victim there could be of use."""
        preemption = queue.preemption
        if not reach.parent or preemption.reclaim_within_cohort == "Never":
            return False
        return self.fair or reach.advantage or reach.under or preemption.borrow_within_cohort.policy != "Never"

    def spares(self, queue: ClusterQueue) -> bool:
        """Take nothing within a queue that does not ask for it."""
        return queue.preemption.within_cluster_queue == "Never"

    def candidate(self, victim: Victim, workload: Workload, queue: ClusterQueue, advantage: bool, now: int) -> str:
        """Compare priorities as the queue's policy says; other queues' victims differ by what they allow."""
        preemption = queue.preemption
        same = victim.cluster_queue == queue.name
        policy = preemption.within_cluster_queue if same else preemption.reclaim_within_cohort
        if not _yields(policy, victim, workload):
            return Variant.NEVER.value
        if same:
            return Variant.WITHIN_QUEUE.value
        if advantage:
            return Variant.HIERARCHY.value
        below = _below_threshold(preemption, victim, workload)
        return Variant.WHILE_BORROWING.value if below else Variant.WITHOUT_BORROWING.value

    def victim_order(self, victim: Victim, workload: Workload, queue: ClusterQueue, variant: str, usage: float) -> Key:
        """Take the evicted first, then other queues', then whose LocalQueue used most, low priority, the newest."""
        same = victim.cluster_queue == queue.name
        group = 2 if same else 0 if self.fair or variant == Variant.HIERARCHY else 1
        return (not victim.evicted, group, -usage, victim.priority, -victim.reserved_at, victim.uid)

    def attempts(self, queue: ClusterQueue, found: Found) -> tuple[bool, ...]:
        """Try without borrowing first where only that may reach other queues."""
        if self.fair or not found.others:
            return (True,)
        if queue.preemption.borrow_within_cohort.policy != "Never":
            return (True, False)
        if not found.under:
            return (True,)
        return (True, False) if found.hierarchy else (False, True)

    def while_borrowing(self, variant: str) -> bool:
        """Refuse those that may be taken only by a queue that stays within its quota."""
        return variant != Variant.WITHOUT_BORROWING

    def reclaims_always(self, queue: ClusterQueue) -> bool:
        """Reclaim always under `reclaimWithinCohort: Any`."""
        return queue.preemption.reclaim_within_cohort == "Any"

    def entitled(self, cell: Cell, usage: int) -> bool:
        """Entitle a queue to its nominal quota."""
        return self.within_nominal and usage <= cell.nominal_quota

    def allowed(self, strategy: str, shares: Shares) -> bool:
        """Compare the preemptor's share with the victim's, after or before."""
        if strategy == FINAL:
            return shares.preemptor <= shares.after
        return shares.preemptor < shares.before

    def ratio(self, borrowed: int, lendable: int) -> float:
        """Take thousandths of what is lent."""
        return borrowed * 1000.0 / lendable

    def share(self, ratio: float, weight: int, borrowing: bool) -> float:
        """Divide by the weight; who has none and borrows has the largest share of all."""
        if weight == 0:
            return float("inf") if borrowing else 0.0
        return ratio / (weight / 1e9)

    def requeue(self, workload: Workload, now: int) -> int:
        """Double the wait from a minute up to an hour, where a workload was put back for not becoming ready."""
        if workload.requeue_at:
            return workload.requeue_at
        if workload.requeue_count == 0 or workload.evicted_reason != "PodsReadyTimeout":
            return 0
        return now + min(BACKOFF_MOST, BACKOFF_BASE << min(workload.requeue_count - 1, 20))


def _yields(policy: str, victim: Victim, workload: Workload) -> bool:
    if policy == "Any":
        return True
    if policy == "LowerPriority":
        return victim.priority < workload.priority
    if policy == "LowerOrNewerEqualPriority":
        if victim.priority == workload.priority:
            return workload.queued_at < victim.queued_at
        return victim.priority < workload.priority
    return False


def _below_threshold(preemption: Preemption, victim: Victim, workload: Workload) -> bool:
    if preemption.borrow_within_cohort.policy == "Never" or victim.priority >= workload.priority:
        return False
    threshold = preemption.borrow_within_cohort.max_priority_threshold
    return threshold is None or victim.priority <= threshold
