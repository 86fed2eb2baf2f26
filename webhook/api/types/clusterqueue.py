"""ClusterQueue, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from webhook.api.types.fields import STOP_POLICY, Api, CheckName, Condition, Int32, LabelSelector, Name, Rule, doc
from webhook.api.types.quota import AdmissionScope, Count, FairSharing, FairSharingStatus, FlavorUsage, ResourceGroup

PREFERENCE: Final = Rule(
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
    "preference requires TryNextFlavor in both other fields",
)
BORROWING: Final = Rule(
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort)"
    " && self.borrowWithinCohort.policy != 'Never')",
    "borrowWithinCohort requires reclaimWithinCohort other than Never",
)


class FlavorFungibility(Api, frozen=True, kw_only=True):
    """Whether the search for a flavor goes on where one would do with borrowing or preemption."""

    RULES = (PREFERENCE,)

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"], doc("What to do if a flavor fits by borrowing.")
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"], doc("What to do if a flavor fits after preemption.")
    ] = "TryNextFlavor"
    preference: Annotated[
        Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None,
        doc("Which of the two is preferred if all flavors were tried. Default: borrowing."),
    ] = None


class BorrowWithinCohort(Api, frozen=True, kw_only=True):
    """Whether a workload that borrows may preempt in other queues."""

    policy: Annotated[Literal["Never", "LowerPriority"], doc("Which workloads may be preempted.")] = "Never"
    max_priority_threshold: Annotated[
        Int32 | None, doc("Only workloads with at most this priority may be preempted.")
    ] = None


class ClusterQueuePreemption(Api, frozen=True, kw_only=True):
    """Which workloads a pending workload may preempt."""

    RULES = (BORROWING,)

    reclaim_within_cohort: Annotated[
        Literal["Never", "LowerPriority", "Any"],
        doc("Which workloads of queues above their nominal quota may be preempted."),
    ] = "Never"
    borrow_within_cohort: Annotated[
        BorrowWithinCohort, doc("Which workloads of other queues may be preempted while borrowing.")
    ] = msgspec.field(default_factory=BorrowWithinCohort)
    within_cluster_queue: Annotated[
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"],
        doc("Which workloads of the same queue may be preempted."),
    ] = "Never"


class AdmissionCheckStrategyRule(Api, frozen=True, kw_only=True):
    """A check that workloads of the queue must pass."""

    name: Annotated[CheckName, doc("The AdmissionCheck.")]
    on_flavors: Annotated[
        list[Name], doc("Only for workloads with one of these flavors. Default: all.", kind="set", max_length=64)
    ] = msgspec.field(default_factory=list)


class AdmissionChecksStrategy(Api, frozen=True, kw_only=True):
    """The checks of the queue."""

    admission_checks: Annotated[
        list[AdmissionCheckStrategyRule],
        doc("The checks and their flavors.", keys=("name",), min_length=1, max_length=64),
    ]


class ConcurrentAdmissionConstraints(Api, frozen=True, kw_only=True):
    """What bounds a migration."""

    last_acceptable_flavor_name: Annotated[
        Name | None, doc("The last flavor, in the order of the queue, to migrate to.")
    ] = None


class ConcurrentAdmissionMigration(Api, frozen=True, kw_only=True):
    """Whether a workload moves to a flavor that it would rather have."""

    mode: Annotated[Literal["TryPreferredFlavors", "RetainFirstAdmission"], doc("Whether it moves.")]
    constraints: Annotated[ConcurrentAdmissionConstraints | None, doc("What bounds the migration.")] = None


class ConcurrentAdmissionPolicy(Api, frozen=True, kw_only=True):
    """Several flavors tried at once; kept for clients, not supported here."""

    migration: Annotated[ConcurrentAdmissionMigration, doc("Whether workloads move after their admission.")]


class ClusterQueueSpec(Api, frozen=True, kw_only=True):
    """What a queue owns, who may use it and how it is shared."""

    RULES = (
        Rule(
            "has(self.cohortName) || !has(self.resourceGroups)"
            " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
            "borrowingLimit requires a cohort: set cohortName",
        ),
    )

    resource_groups: Annotated[
        list[ResourceGroup],
        doc("The quota. A resource or flavor must be in one group only.", kind="atomic", max_length=16),
    ] = msgspec.field(default_factory=list)
    cohort_name: Annotated[Name | None, doc("The Cohort to borrow from and lend to.")] = None
    queueing_strategy: Annotated[
        Literal["StrictFIFO", "BestEffortFIFO"], doc("Whether a workload that does not fit blocks those behind it.")
    ] = "BestEffortFIFO"
    namespace_selector: Annotated[
        LabelSelector | None, doc("Namespaces that may use the queue. Absent: none. Empty: all.", kind="map")
    ] = None
    flavor_fungibility: Annotated[FlavorFungibility, doc("When the search for a flavor stops.")] = msgspec.field(
        default_factory=FlavorFungibility
    )
    preemption: Annotated[ClusterQueuePreemption, doc("Which workloads a pending workload may preempt.")] = (
        msgspec.field(default_factory=ClusterQueuePreemption)
    )
    admission_checks_strategy: Annotated[
        AdmissionChecksStrategy | None, doc("Checks between quota reservation and admission.")
    ] = None
    stop_policy: Annotated[
        STOP_POLICY, doc("Hold stops new admissions; HoldAndDrain also evicts admitted workloads.")
    ] = "None"
    fair_sharing: Annotated[FairSharing | None, doc("Its weight in the cohort.")] = None
    admission_scope: Annotated[AdmissionScope | None, doc("Whether past usage orders its LocalQueues.")] = None
    concurrent_admission_policy: Annotated[
        ConcurrentAdmissionPolicy | None, doc("Several flavors tried at once: not supported, its workloads wait.")
    ] = None


class ClusterQueueStatus(Api, frozen=True, kw_only=True):
    """What the queue holds and what waits."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether it admits workloads, and if not, why.", keys=("type",), max_length=16)
    ] = msgspec.field(default_factory=list)
    flavors_reservation: Annotated[
        list[FlavorUsage], doc("Quota reserved, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    flavors_usage: Annotated[
        list[FlavorUsage], doc("Quota of admitted workloads, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    pending_workloads: Annotated[Count, doc("Number of pending workloads.")] = 0
    reserving_workloads: Annotated[Count, doc("Number of workloads with reserved quota.")] = 0
    admitted_workloads: Annotated[Count, doc("Number of admitted workloads that are not finished.")] = 0
    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share of the cohort.")] = None


class ClusterQueue(Api, frozen=True, kw_only=True):
    """Quota, and the rules of its use, for many namespaces."""

    spec: Annotated[ClusterQueueSpec, doc("Desired state.")] = msgspec.field(default_factory=ClusterQueueSpec)
    status: Annotated[ClusterQueueStatus | None, doc("What is.")] = None
