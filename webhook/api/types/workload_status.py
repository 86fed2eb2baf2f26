"""The status of a Workload, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from webhook.api.types.fields import (
    Api,
    CheckName,
    Condition,
    Int32,
    Label,
    Labels,
    Name,
    Quantities,
    Rule,
    Time,
    Toleration,
    doc,
)

MAX_POD_SETS: Final = 18
"""Pod sets of one job; Kueue 0.20 allows as many."""
MAX_CHECKS: Final = 64
"""As many as a ClusterQueue may name; Kueue takes 8 states."""
Counted = Annotated[Int32, msgspec.Meta(ge=0)]
PodCount = Annotated[Int32, msgspec.Meta(ge=1)]
LevelKey = Annotated[str, msgspec.Meta(max_length=317)]
LevelValue = Annotated[str, msgspec.Meta(max_length=63)]
ClusterName = Annotated[str, msgspec.Meta(max_length=256)]


class LevelIndividualValues(Api, frozen=True, kw_only=True):
    """A node label value for each domain of a slice: prefix + root + suffix."""

    prefix: Annotated[str | None, doc("What all values begin with.", max_length=63)] = None
    suffix: Annotated[str | None, doc("What all values end with.", max_length=63)] = None
    roots: Annotated[list[LevelValue], doc("What is between.", kind="atomic", min_length=1, max_length=100_000)]


class LevelValues(Api, frozen=True, kw_only=True):
    """The values of one level: one for all domains, or one for each."""

    RULES = (Rule("has(self.universal) != has(self.individual)", "set either universal or individual"),)

    universal: Annotated[str | None, doc("The value of all domains.", max_length=63)] = None
    individual: Annotated[LevelIndividualValues | None, doc("A value for each domain.")] = None


class PodCounts(Api, frozen=True, kw_only=True):
    """Pods in each domain of a slice: one number for all, or one for each."""

    RULES = (Rule("has(self.universal) != has(self.individual)", "set either universal or individual"),)

    universal: Annotated[Int32 | None, doc("The number of all domains.", ge=1)] = None
    individual: Annotated[
        list[PodCount], doc("A number for each domain.", kind="atomic", min_length=1, max_length=100_000)
    ] = msgspec.field(default_factory=list)


class TopologyAssignmentSlice(Api, frozen=True, kw_only=True):
    """Domains that are written down together."""

    RULES = (
        Rule(
            "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
            "podCounts.individual must have length equal to domainCount",
        ),
        Rule(
            "self.valuesPerLevel.all(v, !has(v.individual) || size(v.individual.roots) == self.domainCount)",
            "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this "
            "TopologyAssignmentSlice",
        ),
    )

    domain_count: Annotated[Int32, doc("How many domains.", ge=1)]
    values_per_level: Annotated[
        list[LevelValues], doc("Their values, level by level.", kind="atomic", min_length=1, max_length=16)
    ]
    pod_counts: Annotated[PodCounts, doc("Their pods.")]


class TopologyAssignment(Api, frozen=True, kw_only=True):
    """Where the pods of a set go, level by level; kept for other schedulers, not used here."""

    RULES = (
        Rule(
            "self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
            "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
        ),
    )

    levels: Annotated[
        list[LevelKey], doc("Node label keys, the widest first.", kind="atomic", min_length=1, max_length=16)
    ]
    slices: Annotated[list[TopologyAssignmentSlice], doc("The domains.", kind="atomic", max_length=1000)]


class AssignmentFields(Api, frozen=True, kw_only=True):
    """What a pod set got, in every version of the API."""

    name: Annotated[Label, doc("The pod set.")] = "main"
    flavors: Annotated[dict[str, Name], doc("The flavor of each resource.")] = msgspec.field(default_factory=dict)
    resource_usage: Annotated[Quantities, doc("Total resource usage of its pods.")] = msgspec.field(
        default_factory=dict
    )
    count: Annotated[Counted | None, doc("Number of pods; may be fewer than requested under partial admission.")] = None
    delayed_topology_request: Annotated[
        Literal["Pending", "Ready"] | None, doc("Whether the topology assignment is pending.")
    ] = None


class PodSetAssignment(AssignmentFields, frozen=True, kw_only=True):
    """What a pod set got."""

    topology_assignment: Annotated[TopologyAssignment | None, doc("Where its pods are placed.")] = None


class Admission(Api, frozen=True, kw_only=True):
    """The quota that the workload holds."""

    cluster_queue: Annotated[Name | None, doc("The ClusterQueue whose quota is reserved.")] = None
    pod_set_assignments: Annotated[
        list[PodSetAssignment], doc("One for each pod set.", keys=("name",), max_length=MAX_POD_SETS)
    ] = msgspec.field(default_factory=list)


class RequeueState(Api, frozen=True, kw_only=True):
    """Back-off after an eviction."""

    count: Annotated[Counted | None, doc("How often it was requeued.")] = None
    requeue_at: Annotated[Time | None, doc("The earliest time at which it is retried.")] = None


class ReclaimablePod(Api, frozen=True, kw_only=True):
    """Pods that are done and need no quota any more."""

    name: Annotated[Label, doc("The pod set.")]
    count: Annotated[Int32, doc("Number of its pods that are done.", ge=0)]


class PodSetUpdate(Api, frozen=True, kw_only=True):
    """What a check adds to the pods of a set."""

    name: Annotated[Label, doc("The pod set.")]
    labels: Annotated[Labels, doc("Labels to add.")] = msgspec.field(default_factory=dict)
    annotations: Annotated[Labels, doc("Annotations to add.")] = msgspec.field(default_factory=dict)
    node_selector: Annotated[Labels, doc("Node selector to add.")] = msgspec.field(default_factory=dict)
    tolerations: Annotated[list[Toleration], doc("Tolerations to add.", kind="atomic", max_length=8)] = msgspec.field(
        default_factory=list
    )


class AdmissionCheckState(Api, frozen=True, kw_only=True):
    """The answer of one check."""

    name: Annotated[CheckName, doc("The AdmissionCheck.")]
    state: Annotated[
        Literal["Pending", "Ready", "Retry", "Rejected"],
        doc("Pending waits, Ready admits, Retry evicts, Rejected deactivates."),
    ]
    last_transition_time: Annotated[Time, doc("When the state changed.")]
    message: Annotated[str, doc("Why, for people.", max_length=32768)]
    requeue_after_seconds: Annotated[Int32 | None, doc("Time to wait before the next attempt.", ge=0)] = None
    retry_count: Annotated[Int32 | None, doc("Number of retries.", ge=0)] = None
    pod_set_updates: Annotated[
        list[PodSetUpdate], doc("Changes to its pods.", kind="atomic", max_length=MAX_POD_SETS)
    ] = msgspec.field(default_factory=list)


class PodSetRequest(Api, frozen=True, kw_only=True):
    """What the last attempt to admit it asked for."""

    name: Annotated[Label, doc("The pod set.")]
    resources: Annotated[Quantities, doc("Total requests of its pods, after defaults and transformations.")] = (
        msgspec.field(default_factory=dict)
    )


class Eviction(Api, frozen=True, kw_only=True):
    """How often it was evicted for one reason."""

    reason: Annotated[str, doc("The reason of the condition `Evicted`.", max_length=316)]
    underlying_cause: Annotated[str, doc("Its underlying cause; may be empty.", max_length=316)]
    count: Annotated[Int32, doc("How often.", ge=0)]


class SchedulingStats(Api, frozen=True, kw_only=True):
    """Counters over the workload's life."""

    evictions: Annotated[
        list[Eviction], doc("Evictions by reason.", keys=("reason", "underlyingCause"), max_length=256)
    ] = msgspec.field(default_factory=list)


class UnhealthyNode(Api, frozen=True, kw_only=True):
    """A node that failed under one of its pods."""

    name: Annotated[str, doc("The node.", max_length=63)]


class PreemptionGateState(Api, frozen=True, kw_only=True):
    """Whether a gate of preemption is open."""

    name: Annotated[str, doc("Its name.", min_length=1, max_length=63)]
    position: Annotated[Literal["Closed", "Open"], doc("Whether it is open.")]
    last_transition_time: Annotated[Time, doc("When it was opened or closed.")]


class StatusFields(Api, frozen=True, kw_only=True):
    """What became of a workload, in every version of the API."""

    RULES = (
        Rule(
            "!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",
            "clusterName cannot be changed once it is set",
        ),
        Rule(
            "!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",
            "set either clusterName or nominatedClusterNames",
        ),
    )

    conditions: Annotated[
        list[Condition],
        doc("QuotaReserved, Admitted, PodsReady, Evicted, Preempted, Requeued, Finished.", keys=("type",),
            max_length=16),
    ] = msgspec.field(default_factory=list)  # fmt: skip
    requeue_state: Annotated[RequeueState | None, doc("Back-off after an eviction.")] = None
    reclaimable_pods: Annotated[
        list[ReclaimablePod], doc("Pods that are done.", keys=("name",), max_length=MAX_POD_SETS)
    ] = msgspec.field(default_factory=list)
    admission_checks: Annotated[
        list[AdmissionCheckState], doc("States of the admission checks.", keys=("name",), max_length=MAX_CHECKS)
    ] = msgspec.field(default_factory=list)
    resource_requests: Annotated[
        list[PodSetRequest], doc("Requested resources while it is pending.", keys=("name",), max_length=MAX_POD_SETS)
    ] = msgspec.field(default_factory=list)
    scheduling_stats: Annotated[SchedulingStats | None, doc("Counters.")] = None
    nominated_cluster_names: Annotated[
        list[ClusterName], doc("Clusters that may run it; stored, not used.", kind="atomic", max_length=20)
    ] = msgspec.field(default_factory=list)
    cluster_name: Annotated[str | None, doc("The cluster that runs it; stored, not used.", max_length=256)] = None


class WorkloadStatus(StatusFields, frozen=True, kw_only=True):
    """What a workload got, and what became of it."""

    admission: Annotated[Admission | None, doc("The reserved quota; absent if none.")] = None
    accumulated_past_execution_time_seconds: Annotated[
        Int32 | None, doc("Seconds it was admitted before its last eviction.", ge=0)
    ] = None
    unhealthy_nodes: Annotated[list[UnhealthyNode], doc("Failed nodes of its pods.", keys=("name",), max_length=8)] = (
        msgspec.field(default_factory=list)
    )
    preemption_gates: Annotated[
        list[PreemptionGateState], doc("Gates of preemption; stored, not used.", keys=("name",), max_length=8)
    ] = msgspec.field(default_factory=list)
