"""The types of kueue.x-k8s.io/v1beta1 that differ from v1beta2. All others are the same in both."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.types.admissioncheck import AdmissionCheckParametersReference, AdmissionCheckStatus
from webhook.api.types.clusterqueue import PREFERENCE, AdmissionChecksStrategy, ClusterQueuePreemption
from webhook.api.types.cohort import CohortSpec
from webhook.api.types.fields import (
    IMMUTABLE,
    STOP_POLICY,
    SUBDOMAIN,
    Api,
    CheckName,
    Condition,
    Int32,
    Int64,
    Labels,
    LabelSelector,
    Name,
    Rule,
    Taint,
    Time,
    doc,
)
from webhook.api.types.localqueue import LocalQueueSpec
from webhook.api.types.multikueue import ClusterProfileReference, MultiKueueClusterStatus
from webhook.api.types.quota import (
    AdmissionScope,
    ConsumedResources,
    Count,
    FairSharing,
    FlavorUsage,
    LocalFlavorUsage,
    ResourceGroup,
)
from webhook.api.types.workload import ASSIGNED, FROZEN, PodSet, holds, kept
from webhook.api.types.workload_status import MAX_POD_SETS, AssignmentFields, StatusFields


class FlavorFungibility(Api, frozen=True, kw_only=True):
    """Whether the search for a flavor goes on; with the words of the time before MayStopSearch."""

    RULES = (PREFERENCE,)

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor", "Borrow"],
        doc("What to do if a flavor fits by borrowing; Borrow is the old name of MayStopSearch."),
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        Literal["MayStopSearch", "TryNextFlavor", "Preempt"],
        doc("What to do if a flavor fits after preemption; Preempt is the old name of MayStopSearch."),
    ] = "TryNextFlavor"
    preference: Annotated[
        Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None, doc("Which of the two is preferred.")
    ] = None


class FairSharingStatus(Api, frozen=True, kw_only=True):
    """Its share, and the history behind it."""

    weighted_share: Annotated[Int64, doc("Weighted share.")]
    admission_fair_sharing_status: Annotated[ConsumedResources | None, doc("Decayed past usage.")] = None


class PendingWorkload(Api, frozen=True, kw_only=True):
    """One of the first in the queue."""

    name: Annotated[str, doc("Its name.")]
    namespace: Annotated[str, doc("Its namespace.")]


class PendingWorkloadsStatus(Api, frozen=True, kw_only=True):
    """The first in the queue, as older tools read them; gone in v1beta2."""

    cluster_queue_pending_workload: Annotated[
        list[PendingWorkload], doc("The pending workloads, in order.", kind="atomic")
    ] = msgspec.field(default_factory=list)
    last_change_time: Annotated[Time, doc("When the list last changed.")]


class ClusterQueueSpec(Api, frozen=True, kw_only=True):
    """What a queue owns, who may use it and how it is shared."""

    RULES = (
        Rule(
            "has(self.cohort) || !has(self.resourceGroups)"
            " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
            "borrowingLimit requires a cohort: set cohort",
        ),
    )

    resource_groups: Annotated[
        list[ResourceGroup],
        doc("The quota. A resource or flavor must be in one group only.", kind="atomic", max_length=16),
    ] = msgspec.field(default_factory=list)
    cohort: Annotated[Name | None, doc("The Cohort to borrow from and lend to.")] = None
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
    admission_checks: Annotated[
        list[CheckName], doc("Checks for all flavors; removed in v1beta2, use admissionChecksStrategy.", max_length=64)
    ] = msgspec.field(default_factory=list)
    admission_checks_strategy: Annotated[
        AdmissionChecksStrategy | None, doc("Checks between quota reservation and admission.")
    ] = None
    stop_policy: Annotated[
        STOP_POLICY, doc("Hold stops new admissions; HoldAndDrain also evicts admitted workloads.")
    ] = "None"
    fair_sharing: Annotated[FairSharing | None, doc("Its weight in the cohort.")] = None
    admission_scope: Annotated[AdmissionScope | None, doc("Whether past usage orders its LocalQueues.")] = None


class ClusterQueueStatus(Api, frozen=True, kw_only=True):
    """What the queue holds and what waits."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether it admits workloads.", keys=("type",), max_length=16)
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
    pending_workloads_status: Annotated[PendingWorkloadsStatus | None, doc("The first pending workloads.")] = None
    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share of the cohort.")] = None


class CohortStatus(Api, frozen=True, kw_only=True):
    """What the cohort's queues use of its parent."""

    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share of its parent.")] = None


class TopologyInfo(Api, frozen=True, kw_only=True):
    """The topology of a flavor."""

    name: Annotated[Name, doc("The Topology.")]
    levels: Annotated[list[str], doc("Its levels.", kind="atomic", min_length=1, max_length=16)]


class LocalQueueFlavorStatus(Api, frozen=True, kw_only=True):
    """A flavor that the queue reaches; gone in v1beta2."""

    name: Annotated[Name, doc("The ResourceFlavor.")]
    resources: Annotated[list[str], doc("Its resources.", kind="set", max_length=64)] = msgspec.field(
        default_factory=list
    )
    node_labels: Annotated[Labels, doc("Labels of its nodes.", kind="map", max_length=8)] = msgspec.field(
        default_factory=dict
    )
    node_taints: Annotated[list[Taint], doc("Taints of its nodes.", kind="atomic", max_length=8)] = msgspec.field(
        default_factory=list
    )
    topology: Annotated[TopologyInfo | None, doc("Its topology.")] = None


class LocalQueueStatus(Api, frozen=True, kw_only=True):
    """What came through the queue and what waits."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether it accepts workloads.", keys=("type",), max_length=16)
    ] = msgspec.field(default_factory=list)
    pending_workloads: Annotated[Count, doc("Number of pending workloads.")] = 0
    reserving_workloads: Annotated[Count, doc("Number of workloads with reserved quota.")] = 0
    admitted_workloads: Annotated[Count, doc("Number of admitted workloads that are not finished.")] = 0
    flavors_reservation: Annotated[
        list[LocalFlavorUsage], doc("Quota reserved, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    flavor_usage: Annotated[
        list[LocalFlavorUsage], doc("Quota of admitted workloads, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    flavors: Annotated[list[LocalQueueFlavorStatus], doc("The flavors it reaches.", keys=("name",), max_length=64)] = (
        msgspec.field(default_factory=list)
    )
    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share.")] = None


class WorkloadSpec(Api, frozen=True, kw_only=True):
    """What a job asks for, and where it waits."""

    RULES = (
        Rule(
            "!has(self.priorityClassName) || self.priorityClassName == '' || has(self.priority)",
            "priorityClassName requires priority",
        ),
    )

    pod_sets: Annotated[
        list[PodSet],
        doc("Its pod sets, admitted together.", keys=("name",), min_length=1, max_length=MAX_POD_SETS),
    ]
    queue_name: Annotated[Name | None, doc("The LocalQueue of the workload.")] = None
    priority_class_name: Annotated[
        str | None, doc("The class of the priority.", max_length=253, pattern=f"^$|{SUBDOMAIN}")
    ] = None
    priority: Annotated[Int32 | None, doc("Priority; higher values go first. Default: 0.")] = None
    priority_class_source: Annotated[
        Literal["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""],
        doc("The kind of that class."),
    ] = ""
    active: Annotated[bool, doc("false removes it from its queue, and evicts it if it is admitted.")] = True
    maximum_execution_time_seconds: Annotated[
        Int32 | None, doc("Time in the admitted state after which it is evicted and deactivated.", ge=1)
    ] = None


class TopologyDomain(Api, frozen=True, kw_only=True):
    """Pods in one place."""

    values: Annotated[list[str], doc("Node label values, level by level.", kind="atomic", min_length=1, max_length=16)]
    count: Annotated[Int32, doc("How many pods.", ge=1)]


class TopologyAssignment(Api, frozen=True, kw_only=True):
    """Where the pods of a set go, place by place."""

    levels: Annotated[list[str], doc("Node label keys, the widest first.", kind="atomic", min_length=1, max_length=16)]
    domains: Annotated[list[TopologyDomain], doc("The places.", kind="atomic")]


class PodSetAssignment(AssignmentFields, frozen=True, kw_only=True):
    """What a pod set got."""

    topology_assignment: Annotated[TopologyAssignment | None, doc("Where its pods are placed.")] = None


class Admission(Api, frozen=True, kw_only=True):
    """The quota that the workload holds."""

    cluster_queue: Annotated[Name, doc("The ClusterQueue whose quota is reserved.")]
    pod_set_assignments: Annotated[
        list[PodSetAssignment], doc("One for each pod set.", keys=("name",), max_length=MAX_POD_SETS)
    ]


class UnhealthyNode(Api, frozen=True, kw_only=True):
    """A node that failed under one of its pods."""

    name: Annotated[str, doc("The node.")]


class WorkloadStatus(StatusFields, frozen=True, kw_only=True):
    """What a workload got, and what became of it. The spelling of one field is that of the original."""

    admission: Annotated[Admission | None, doc("The reserved quota; absent if none.")] = None
    accumulated_past_exexcution_time_seconds: Annotated[
        Int32 | None, doc("Seconds it was admitted before its last eviction.", ge=0)
    ] = None
    unhealthy_nodes: Annotated[list[UnhealthyNode], doc("Failed nodes of its pods.", keys=("name",), max_length=8)] = (
        msgspec.field(default_factory=list)
    )


class AdmissionCheckSpec(Api, frozen=True, kw_only=True):
    """A check that somebody else answers before a workload with quota is admitted."""

    controller_name: Annotated[str, doc("Who answers.", rules=(IMMUTABLE,))]
    retry_delay_minutes: Annotated[Int64, doc("Not used; removed in v1beta2.")] = 15
    parameters: Annotated[AdmissionCheckParametersReference | None, doc("Parameters for the controller.")] = None


class ClusterQueue(Api, frozen=True, kw_only=True):
    """Quota, and the rules of its use, for many namespaces."""

    spec: Annotated[ClusterQueueSpec, doc("Desired state.")] = msgspec.field(default_factory=ClusterQueueSpec)
    status: Annotated[ClusterQueueStatus | None, doc("What is.")] = None


class Cohort(Api, frozen=True, kw_only=True):
    """Queues, and cohorts of queues, that lend to each other."""

    spec: Annotated[CohortSpec, doc("Desired state.")] = msgspec.field(default_factory=CohortSpec)
    status: Annotated[CohortStatus | None, doc("What is.")] = None


class LocalQueue(Api, frozen=True, kw_only=True):
    """The queue that a job names: it gives the jobs of its namespace access to a ClusterQueue."""

    spec: Annotated[LocalQueueSpec, doc("Desired state.")] = msgspec.field(default_factory=LocalQueueSpec)
    status: Annotated[LocalQueueStatus | None, doc("What is.")] = None


class AdmissionCheck(Api, frozen=True, kw_only=True):
    """A check between quota reservation and admission."""

    spec: Annotated[AdmissionCheckSpec, doc("Desired state.")]
    status: Annotated[AdmissionCheckStatus | None, doc("What is.")] = None


class Workload(Api, frozen=True, kw_only=True):
    """A job in the eyes of the queue: pods that are admitted together."""

    RULES = (
        ASSIGNED,
        *FROZEN,
        Rule(
            f"!{holds('oldSelf', 'QuotaReserved')} || {kept('priorityClassSource')}",
            "priorityClassSource cannot be changed while quota is reserved",
        ),
        Rule(
            f"!{holds('oldSelf', 'QuotaReserved')} || {kept('priorityClassName')}"
            " || (has(self.spec.priorityClassSource)"
            " && self.spec.priorityClassSource == 'kueue.x-k8s.io/workloadpriorityclass')",
            "only the name of a WorkloadPriorityClass can be changed while quota is reserved",
        ),
    )

    spec: Annotated[WorkloadSpec | None, doc("Desired state.")] = None
    status: Annotated[WorkloadStatus | None, doc("What is.")] = None


class KubeConfig(Api, frozen=True, kw_only=True):
    """Where the kubeconfig of a cluster is."""

    location: Annotated[str, doc("The Secret's name, or the file's path.")]
    location_type: Annotated[Literal["Secret", "Path"], doc("What `location` is.")] = "Secret"


class MultiKueueClusterSpec(Api, frozen=True, kw_only=True):
    """A cluster that could run workloads."""

    kube_config: Annotated[KubeConfig, doc("How it is reached; an empty location where it is by a ClusterProfile.")]
    cluster_profile_ref: Annotated[ClusterProfileReference | None, doc("By a ClusterProfile.")] = None


class MultiKueueConfigSpec(Api, frozen=True, kw_only=True):
    """Clusters that workloads are sent to."""

    clusters: Annotated[
        list[str], doc("The MultiKueueClusters, the preferred ones first.", kind="set", min_length=1, max_length=20)
    ]


class MultiKueueCluster(Api, frozen=True, kw_only=True):
    """A cluster that workloads can be sent to."""

    spec: Annotated[MultiKueueClusterSpec, doc("Desired state.")]
    status: Annotated[MultiKueueClusterStatus | None, doc("What is.")] = None


class MultiKueueConfig(Api, frozen=True, kw_only=True):
    """Clusters that the workloads of a queue are sent to."""

    spec: Annotated[MultiKueueConfigSpec, doc("Desired state.")]
