"""LocalQueue, ResourceFlavor, WorkloadPriorityClass and AdmissionCheck, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated

import msgspec

from webhook.api.types.fields import (
    IMMUTABLE,
    LABEL,
    STOP_POLICY,
    SUBDOMAIN,
    Api,
    Condition,
    Int32,
    Int64,
    Labels,
    Name,
    Rule,
    Taint,
    Toleration,
    doc,
)
from webhook.api.types.quota import ConsumedResources, Count, FairSharing, LocalFlavorUsage

KIND = r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"


class LocalQueueSpec(Api, frozen=True, kw_only=True):
    """A door of one namespace to a ClusterQueue."""

    cluster_queue: Annotated[Name | None, doc("The ClusterQueue of this LocalQueue.", rules=(IMMUTABLE,))] = None
    stop_policy: Annotated[
        STOP_POLICY, doc("Hold stops new admissions; HoldAndDrain also evicts admitted workloads.")
    ] = "None"
    fair_sharing: Annotated[FairSharing | None, doc("Its weight if past usage orders the queue.")] = None


class LocalQueueFairSharingStatus(Api, frozen=True, kw_only=True):
    """Its share, and the history behind it."""

    weighted_share: Annotated[Int64 | None, doc("Weighted past usage.", ge=0)] = None
    admission_fair_sharing_status: Annotated[ConsumedResources | None, doc("Decayed past usage.")] = None


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
    flavors_usage: Annotated[
        list[LocalFlavorUsage], doc("Quota of admitted workloads, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    fair_sharing: Annotated[LocalQueueFairSharingStatus | None, doc("Its share.")] = None


class ResourceFlavorSpec(Api, frozen=True, kw_only=True):
    """A kind of node."""

    RULES = (
        Rule("!has(self.topologyName) || size(self.nodeLabels) >= 1", "topologyName requires at least one node label"),
        Rule(
            "!has(oldSelf.topologyName) || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
            "topologyName cannot be changed once it is set",
        ),
    )

    node_labels: Annotated[
        Labels, doc("Labels of its nodes, added to the node selector of admitted pods.", kind="map", max_length=8)
    ] = msgspec.field(default_factory=dict)
    node_taints: Annotated[
        list[Taint],
        doc("Taints of its nodes; a workload must tolerate them to use the flavor.", kind="atomic", max_length=8),
    ] = msgspec.field(default_factory=list)
    tolerations: Annotated[
        list[Toleration], doc("Tolerations added to admitted pods.", kind="atomic", max_length=8)
    ] = msgspec.field(default_factory=list)
    topology_name: Annotated[Name | None, doc("The Topology of its nodes; stored, not used.")] = None


class AdmissionCheckParametersReference(Api, frozen=True, kw_only=True):
    """The object that holds the parameters of a check."""

    api_group: Annotated[str, doc("Its API group.", min_length=1, max_length=253, pattern=SUBDOMAIN)]
    kind: Annotated[
        str, doc("Its kind.", min_length=1, max_length=63, pattern=r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$")
    ]
    name: Annotated[str, doc("Its name.", min_length=1, max_length=63, pattern=LABEL)]


class AdmissionCheckSpec(Api, frozen=True, kw_only=True):
    """A check that somebody else answers before a workload with quota is admitted."""

    controller_name: Annotated[str, doc("Who answers.", min_length=1, max_length=253, rules=(IMMUTABLE,))]
    parameters: Annotated[AdmissionCheckParametersReference | None, doc("Parameters for the controller.")] = None


class AdmissionCheckStatus(Api, frozen=True, kw_only=True):
    """Whether the check works."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether its controller is ready.", keys=("type",), max_length=16)
    ] = msgspec.field(default_factory=list)


class LocalQueue(Api, frozen=True, kw_only=True):
    """The queue that a job names: the door of its namespace to a ClusterQueue."""

    spec: Annotated[LocalQueueSpec, doc("Desired state.")] = msgspec.field(default_factory=LocalQueueSpec)
    status: Annotated[LocalQueueStatus | None, doc("What is.")] = None


class ResourceFlavor(Api, frozen=True, kw_only=True):
    """A kind of node that quota is counted for."""

    spec: Annotated[ResourceFlavorSpec, doc("Desired state.")] = msgspec.field(default_factory=ResourceFlavorSpec)


class AdmissionCheck(Api, frozen=True, kw_only=True):
    """A check between quota reservation and admission."""

    spec: Annotated[AdmissionCheckSpec, doc("Desired state.")]
    status: Annotated[AdmissionCheckStatus | None, doc("What is.")] = None


class WorkloadPriorityClass(Api, frozen=True, kw_only=True):
    """A name for a priority that counts in the queue only, not among running pods."""

    value: Annotated[Int32, doc("The priority; higher values go first.")]
    description: Annotated[str, doc("When to use this class.", max_length=2048)] = ""
