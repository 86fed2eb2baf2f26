"""ClusterQueue and Cohort, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.fields import STOP_POLICY, Api, CheckName, Condition, Int32, LabelSelector, Name, Rule, doc
from webhook.api.quota import AdmissionScope, Count, FairSharing, FairSharingStatus, FlavorUsage, ResourceGroup


class FlavorFungibility(Api, frozen=True, kw_only=True):
    """Whether the search for a flavor goes on where one would do with borrowing or preemption."""

    RULES = (
        Rule(
            "!has(self.preference)"
            " || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
            "preference counts only where both other fields are TryNextFlavor",
        ),
    )

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"], doc("What to do at a flavor that fits by borrowing.")
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"], doc("What to do at a flavor that fits after preemption.")
    ] = "TryNextFlavor"
    preference: Annotated[
        Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None,
        doc("Which of the two is better, where all flavors were tried; absent, borrowing is."),
    ] = None


class BorrowWithinCohort(Api, frozen=True, kw_only=True):
    """Whether a workload that borrows may preempt in other queues."""

    policy: Annotated[Literal["Never", "LowerPriority"], doc("Whom it may preempt.")] = "Never"
    max_priority_threshold: Annotated[
        Int32 | None, doc("Only workloads at or below this priority may be preempted so.")
    ] = None


class ClusterQueuePreemption(Api, frozen=True, kw_only=True):
    """Whom a pending workload may preempt."""

    RULES = (
        Rule(
            "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort)"
            " && self.borrowWithinCohort.policy != 'Never')",
            "borrowWithinCohort needs reclaimWithinCohort other than Never",
        ),
    )

    reclaim_within_cohort: Annotated[
        Literal["Never", "LowerPriority", "Any"], doc("Whom of the other queues that use more than they own.")
    ] = "Never"
    borrow_within_cohort: Annotated[BorrowWithinCohort, doc("Whom of the other queues, while borrowing itself.")] = (
        msgspec.field(default_factory=BorrowWithinCohort)
    )
    within_cluster_queue: Annotated[
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"], doc("Whom of its own queue.")
    ] = "Never"


class AdmissionCheckStrategyRule(Api, frozen=True, kw_only=True):
    """A check that workloads of the queue must pass."""

    name: Annotated[CheckName, doc("The AdmissionCheck.")]
    on_flavors: Annotated[
        list[Name], doc("Only for workloads that got one of these flavors; empty, for all.", kind="set", max_length=64)
    ] = msgspec.field(default_factory=list)


class AdmissionChecksStrategy(Api, frozen=True, kw_only=True):
    """The checks of the queue."""

    admission_checks: Annotated[
        list[AdmissionCheckStrategyRule],
        doc("The checks, and the flavors they are for.", keys=("name",), min_length=1, max_length=64),
    ]


class ClusterQueueSpec(Api, frozen=True, kw_only=True):
    """What a queue owns, who may use it and how it is shared."""

    RULES = (
        Rule(
            "has(self.cohortName) || !has(self.resourceGroups)"
            " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
            "borrowingLimit needs a cohort to borrow from: set cohortName",
        ),
    )

    resource_groups: Annotated[
        list[ResourceGroup],
        doc("The quota; no resource and no flavor stands in two groups.", kind="atomic", max_length=16),
    ] = msgspec.field(default_factory=list)
    cohort_name: Annotated[Name | None, doc("The Cohort it lends to and borrows from.")] = None
    queueing_strategy: Annotated[
        Literal["StrictFIFO", "BestEffortFIFO"], doc("Whether a workload that does not fit blocks those behind it.")
    ] = "BestEffortFIFO"
    namespace_selector: Annotated[
        LabelSelector | None, doc("The namespaces that may use the queue; absent, none, and empty, all.")
    ] = None
    flavor_fungibility: Annotated[FlavorFungibility, doc("When the search for a flavor ends.")] = msgspec.field(
        default_factory=FlavorFungibility
    )
    preemption: Annotated[ClusterQueuePreemption, doc("Whom a pending workload may preempt.")] = msgspec.field(
        default_factory=ClusterQueuePreemption
    )
    admission_checks_strategy: Annotated[
        AdmissionChecksStrategy | None, doc("Checks between quota reservation and admission.")
    ] = None
    stop_policy: Annotated[STOP_POLICY, doc("Hold admits nothing new; HoldAndDrain evicts what runs as well.")] = "None"
    fair_sharing: Annotated[FairSharing | None, doc("Its weight in the cohort.")] = None
    admission_scope: Annotated[AdmissionScope | None, doc("Whether past use orders its LocalQueues.")] = None


class ClusterQueueStatus(Api, frozen=True, kw_only=True):
    """What the queue holds and what waits."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether it admits, and why not.", keys=("type",), max_length=16)
    ] = msgspec.field(default_factory=list)
    flavors_reservation: Annotated[
        list[FlavorUsage], doc("Quota reserved, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    flavors_usage: Annotated[
        list[FlavorUsage], doc("Quota of admitted workloads, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    pending_workloads: Annotated[Count, doc("Workloads that wait.")] = 0
    reserving_workloads: Annotated[Count, doc("Workloads that hold quota.")] = 0
    admitted_workloads: Annotated[Count, doc("Workloads that are admitted and not finished.")] = 0
    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share of the cohort.")] = None


class CohortSpec(Api, frozen=True, kw_only=True):
    """A node of the tree of queues."""

    parent_name: Annotated[Name | None, doc("The Cohort above; absent, it is a root.")] = None
    resource_groups: Annotated[
        list[ResourceGroup], doc("Quota of the cohort itself, for all below it.", kind="atomic", max_length=16)
    ] = msgspec.field(default_factory=list)
    fair_sharing: Annotated[FairSharing | None, doc("Its weight among its siblings.")] = None


class CohortStatus(Api, frozen=True, kw_only=True):
    """What the cohort's queues use of its parent."""

    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share of its parent.")] = None


class ClusterQueue(Api, frozen=True, kw_only=True):
    """Quota, and the rules of its use, for many namespaces."""

    spec: Annotated[ClusterQueueSpec, doc("What is wanted.")] = msgspec.field(default_factory=ClusterQueueSpec)
    status: Annotated[ClusterQueueStatus | None, doc("What is.")] = None


class Cohort(Api, frozen=True, kw_only=True):
    """Queues, and cohorts of queues, that lend to each other."""

    spec: Annotated[CohortSpec, doc("What is wanted.")] = msgspec.field(default_factory=CohortSpec)
    status: Annotated[CohortStatus | None, doc("What is.")] = None
