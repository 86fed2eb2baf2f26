"""Descriptions of the fields that queue rules read, with the API field that each comes from.

One row a field: `meaning`, and `api` if it comes from one field of an object (empty if Sluice computes it). Names and
types are read from the core's types; a test checks that every field has a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from webhook.queue.model import (
    Admission,
    AdmissionChecksStrategy,
    AdmissionCheckUse,
    BorrowWithinCohort,
    ClusterQueue,
    Flavor,
    FlavorQuotas,
    Fungibility,
    History,
    LocalQueue,
    Namespace,
    PodSet,
    PodSetAssignment,
    Preemption,
    Quota,
    Requirement,
    ResourceGroup,
    ResourceQuota,
    Selector,
    Taint,
    Toleration,
    Workload,
)
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import Contest, Found, Match, Option, Placement, Reach, Shares, UsageFacts, Victim


@dataclass(frozen=True, slots=True)
class ObjectText:
    """What an object is, and of each field what it means and which field of the API it is."""

    summary: str
    fields: Mapping[str, tuple[str, str]]


_LABELS: Final = {
    "labels": ("Its labels.", "metadata.labels"),
    "annotations": ("Its annotations.", "metadata.annotations"),
}
_STOP: Final = ("`None`, `Hold` or `HoldAndDrain`.", "spec.stopPolicy")
_WEIGHT: Final = ("Weight of fair sharing in billionths: 1000000000 is a weight of 1.", "spec.fairSharing.weight")
_UNDER: Final = "The queue uses less than its nominal quota of every resource that is short."

TEXTS: Final[Mapping[type, ObjectText]] = {
    Workload: ObjectText("A job as the queue sees it: pod sets that start together or not at all.", {
        "namespace": ("Its namespace.", "metadata.namespace"),
        "name": ("Its name.", "metadata.name"),
        "key": ("`namespace/name`.", ""),
        "queueName": ("Name of its LocalQueue.", "spec.queueName"),
        "podSets": ("Its pod sets.", "spec.podSets"),
        "priority": ("Its priority, `priorityBoost` included.", "spec.priority"),
        "priorityClass": ("Name of its priority class, or empty.", "spec.priorityClassRef.name"),
        "priorityBoost": ("What an annotation adds to its priority.", "annotation `kueue.x-k8s.io/priority-boost`"),
        "created": ("When it was created.", "metadata.creationTimestamp"),
        "arrival": ("Order of creation among workloads of the same second, as text; empty if unknown.",
                    "annotation `sluice.dev/arrival`"),
        "uid": ("Its UID.", "metadata.uid"),
        "queuedAt": ("Time that counts for its order: its creation, or its last eviction as Kueue's requeuing "
                     "strategy says.", ""),
        "active": ("Whether it may run.", "spec.active"),
        "finished": ("Whether it has finished.", "condition `Finished`"),
        "admission": ("The quota it holds; null if none.", "status.admission"),
        "admitted": ("Whether it holds quota and all admission checks are ready.", "condition `Admitted`"),
        "evicted": ("Whether it is being evicted and still holds its quota.", "condition `Evicted`"),
        "evictedAt": ("When it was last evicted; 0 if never.", "condition `Evicted`"),
        "evictedReason": ("Reason of the last eviction.", "condition `Evicted`"),
        "requeueAt": ("Time before which it must not be admitted; 0 if none.", "status.requeueState.requeueAt"),
        "requeueCount": ("How often it was requeued because its pods were not ready.", "status.requeueState.count"),
        "problem": ("Why it cannot be queued as it is, such as a LimitRange; else empty.", ""),
        "held": ("What keeps it out of its queue, such as an annotation that gates it; else empty.",
                 "condition `Requeued`"),
        "deadline": ("When its maximum execution time ends; 0 if it has none or is not admitted.",
                     "spec.maximumExecutionTimeSeconds"),
        "podsReady": ("Whether all its pods are ready.", "condition `PodsReady`"),
        "unreadySince": ("Since when its pods are not ready; 0 if they are, or if nothing waits for them.", ""),
        "recovers": ("Whether its pods were ready before in this admission.", "condition `PodsReady`"),
        "checks": ("State of each admission check, by name: `Pending`, `Ready`, `Retry` or `Rejected`.",
                   "status.admissionChecks"),
        "user": ("User that created the job, or empty.", "annotation `sluice.dev/user`"),
        "runTime": ("Expected run time in milliseconds; null if unknown.",
                    "annotation `sluice.dev/run-time-seconds`, or `spec.maximumExecutionTimeSeconds`"),
        "first": ("Whether workloads are being evicted for it.", ""),
        **_LABELS,
    }),
    ClusterQueue: ObjectText("A ClusterQueue.", {
        "name": ("Its name.", "metadata.name"),
        "cohortName": ("Name of its cohort, or empty.", "spec.cohortName"),
        "resourceGroups": ("Its quotas.", "spec.resourceGroups"),
        "namespaceSelector": ("Which namespaces may use it; null selects none.", "spec.namespaceSelector"),
        "queueingStrategy": ("`BestEffortFIFO` or `StrictFIFO`.", "spec.queueingStrategy"),
        "preemption": ("Which workloads may be preempted for its workloads.", "spec.preemption"),
        "fungibility": ("When the search for a flavor stops.", "spec.flavorFungibility"),
        "weight": _WEIGHT,
        "stopPolicy": _STOP,
        "admissionChecksStrategy": ("Its admission checks.", "spec.admissionChecksStrategy"),
        "admissionMode": ("`UsageBasedAdmissionFairSharing` if past usage orders its LocalQueues; else empty or "
                          "`NoAdmissionFairSharing`.", "spec.admissionScope.admissionMode"),
        "history": ("Its decayed usage.", "status.fairSharing.admissionFairSharingStatus"),
        "problem": ("Why it is inactive; else empty.", ""),
        "ignoresUndeclared": ("Whether resources that no group covers are ignored; else they keep a workload pending.",
                              ""),
        **_LABELS,
    }),
    LocalQueue: ObjectText("A LocalQueue: access of a namespace to a ClusterQueue.", {
        "namespace": ("Its namespace.", "metadata.namespace"),
        "name": ("Its name.", "metadata.name"),
        "clusterQueue": ("Name of its ClusterQueue.", "spec.clusterQueue"),
        "stopPolicy": _STOP,
        "weight": _WEIGHT,
        "history": ("Its decayed usage.", "status.fairSharing.admissionFairSharingStatus"),
        "problem": ("Why it is inactive; else empty.", ""),
        **_LABELS,
    }),
    PodSet: ObjectText("Pods of one template.", {
        "name": ("Its name.", "spec.podSets[].name"),
        "count": ("Number of pods, without those that are done.", "spec.podSets[].count"),
        "requests": ("What one pod requests, by resource.", "spec.podSets[].template"),
        "minCount": ("Smallest number of pods that may start; null if all must.", "spec.podSets[].minCount"),
        "nodeSelector": ("Labels that the nodes must have.", "spec.podSets[].template.spec.nodeSelector"),
        "affinity": ("Terms of the required node affinity, of which one must match; null if there is none.",
                     "spec.podSets[].template.spec.affinity"),
        "tolerations": ("Taints that the pods tolerate.", "spec.podSets[].template.spec.tolerations"),
        "flavors": ("Flavors, by resource, that it must have because other pods of the job run on them.", ""),
    }),
    Cell: ObjectText("The quota of a ClusterQueue or cohort for one flavor and resource. A limit of -1 is no limit.", {
        "flavor": ("Name of the flavor.", "resourceGroups[].flavors[].name"),
        "resource": ("Name of the resource.", "resourceGroups[].flavors[].resources[].name"),
        "at": ("Its index in the list of usage.", ""),
        "nominalQuota": ("Its own quota.", "nominalQuota"),
        "borrowingLimit": ("How much it may borrow.", "borrowingLimit"),
        "lendingLimit": ("How much it may lend.", "lendingLimit"),
        "subtree": ("Its own quota and what its children lend.", ""),
        "guaranteed": ("How much of `subtree` it never lends.", ""),
        "most": ("How much it could use if the tree were empty.", ""),
        "root": ("Whether it has no parent.", ""),
        "parent": ("The node of its cohort; null at the root.", ""),
        "above": ("The nodes from the root down to this one.", ""),
    }),
    Placement: ObjectText("How a head would be placed, for the comparison with heads of other queues.", {
        "mode": ("How it fits; see [mode](#mode).", ""),
        "borrow": ("Height of the subtree that it borrows from; 0 is the queue itself.", ""),
        "usage": ("What it would use, by resource.", ""),
    }),
    Contest: ObjectText("A head under fair sharing, at one level of the tree; its own usage is included.", {
        "borrowing": ("Whether its subtree would borrow a resource that it requests.", ""),
        "share": ("Share of its subtree, by weight.", ""),
        "ratio": ("Share of its subtree, without weight.", ""),
        "infinite": ("Whether its subtree borrows with a weight of 0.", ""),
    }),
    Option: ObjectText("A flavor for a request.", {
        "mode": ("How the request fits; see [mode](#mode).", ""),
        "borrow": ("Height of the subtree to borrow from; 0 is the queue itself.", ""),
    }),
    Match: ObjectText("Whether a pod set can use a flavor.", {
        "flavor": ("The flavor.", ""),
        "untolerated": ("First taint that is not tolerated, as `key=value:effect`; empty if there is none.", ""),
        "affinity": ("Whether node selector and node affinity match the flavor's labels.", ""),
    }),
    Victim: ObjectText("A workload that holds quota, as a victim of preemption.", {
        "workload": ("The workload.", ""),
        "clusterQueue": ("Name of the ClusterQueue whose quota it holds.", "status.admission.clusterQueue"),
        "priority": ("Its priority.", "spec.priority"),
        "queuedAt": ("As `workload.queuedAt`.", ""),
        "reservedAt": ("Since when it holds quota.", "condition `QuotaReserved`"),
        "uid": ("Its UID.", "metadata.uid"),
        "evicted": ("Whether it is being evicted already.", "condition `Evicted`"),
    }),
    Reach: ObjectText("A queue and a subtree in which victims may be found.", {
        "parent": ("Whether the queue is in a cohort.", ""),
        "advantage": ("Whether the request fits in the quota of a smaller subtree, which contains the queue.", ""),
        "under": (_UNDER, ""),
    }),
    Found: ObjectText("Which victims were found.", {
        "others": ("Whether there are victims in other queues.", ""),
        "hierarchy": ("Whether one of them is a `Hierarchy`; see [variant](#variant).", ""),
        "under": (f"{_UNDER} As in [reach](#reach).", ""),
    }),
    Shares: ObjectText("The shares that fair preemption compares, by weight.", {
        "preemptor": ("Share of the preemptor's subtree after its admission.", ""),
        "before": ("Share of the victim's subtree now.", ""),
        "after": ("Share of the victim's subtree without the victim.", ""),
    }),
    UsageFacts: ObjectText("Sums over the workloads that hold quota. Amounts are by resource.", {
        "namespace": ("Namespace of the workload; null if it is not known.", ""),
        "requests": ("What all pods of the workload request.", ""),
        "userUsage": ("What the workload's user holds.", ""),
        "namespaceUsage": ("What the workload's namespace holds.", ""),
        "queueUsage": ("What the ClusterQueue holds.", ""),
        "userWorkloads": ("How many workloads of the user hold quota.", ""),
        "unready": ("How many workloads of the cluster hold quota and have pods that are not ready.", ""),
        "userHistory": ("Decayed usage of the user.", ""),
        "namespaceHistory": ("Decayed usage of the namespace.", ""),
        "queueHistory": ("Decayed usage of the ClusterQueue.", ""),
    }),
    Admission: ObjectText("The quota that a workload holds.", {
        "clusterQueue": ("Name of the ClusterQueue.", "status.admission.clusterQueue"),
        "podSetAssignments": ("What each pod set holds.", "status.admission.podSetAssignments"),
        "reservedAt": ("Since when.", "condition `QuotaReserved`"),
    }),
    ResourceGroup: ObjectText("Resources that a pod set gets from one flavor.", {
        "coveredResources": ("Names of the resources.", "resourceGroups[].coveredResources"),
        "flavors": ("The flavors, in the order in which they are tried.", "resourceGroups[].flavors"),
    }),
    Selector: ObjectText("A label selector. All requirements must hold; an empty one selects everything.", {
        "matchExpressions": ("The requirements, those of `matchLabels` included.", "matchExpressions"),
    }),
    Preemption: ObjectText("Which workloads may be preempted for workloads of a queue.", {
        "withinClusterQueue": ("Of the same queue: `Never`, `LowerPriority`, `LowerOrNewerEqualPriority` or `Any`.",
                               "preemption.withinClusterQueue"),
        "reclaimWithinCohort": ("Of queues that borrow: `Never`, `LowerPriority`, `LowerOrNewerEqualPriority` or "
                                "`Any`.", "preemption.reclaimWithinCohort"),
        "borrowWithinCohort": ("Of other queues, while the queue borrows.", "preemption.borrowWithinCohort"),
    }),
    BorrowWithinCohort: ObjectText("Whether a queue may preempt workloads of other queues while it borrows.", {
        "policy": ("`Never` or `LowerPriority`.", "preemption.borrowWithinCohort.policy"),
        "maxPriorityThreshold": ("Highest priority of such a victim; null is no limit.",
                                 "preemption.borrowWithinCohort.maxPriorityThreshold"),
    }),
    Fungibility: ObjectText("When the search for a flavor stops; values as in v1beta2.", {
        "whenCanBorrow": ("`MayStopSearch` or `TryNextFlavor`.", "flavorFungibility.whenCanBorrow"),
        "whenCanPreempt": ("`MayStopSearch` or `TryNextFlavor`.", "flavorFungibility.whenCanPreempt"),
        "preference": ("`BorrowingOverPreemption`, `PreemptionOverBorrowing` or empty.",
                       "flavorFungibility.preference"),
    }),
    AdmissionChecksStrategy: ObjectText("The admission checks of a queue.", {
        "admissionChecks": ("The checks.", "admissionChecksStrategy.admissionChecks"),
    }),
    AdmissionCheckUse: ObjectText("An admission check of a queue.", {
        "name": ("Its name.", "admissionChecks[].name"),
        "onFlavors": ("The flavors that it is for; empty is all.", "admissionChecks[].onFlavors"),
    }),
    History: ObjectText("Decayed usage at a time.", {
        "at": ("The time.", "lastUpdate"),
        "usage": ("Decayed usage by resource.", "consumedResources"),
        "users": ("Decayed usage by user and resource.", "users[]"),
    }),
    Toleration: ObjectText("A toleration.", {
        "key": ("Key of the taint; empty with `Exists` is every taint.", "key"),
        "operator": ("`Equal`, `Exists`, `Gt` or `Lt`.", "operator"),
        "value": ("Value of the taint.", "value"),
        "effect": ("Effect of the taint; empty is every effect.", "effect"),
    }),
    Flavor: ObjectText("A ResourceFlavor: nodes of one kind.", {
        "name": ("Its name.", "metadata.name"),
        "nodeLabels": ("Labels of its nodes.", "spec.nodeLabels"),
        "nodeTaints": ("Taints of its nodes.", "spec.nodeTaints"),
        "tolerations": ("Tolerations that its pods get.", "spec.tolerations"),
        "problem": ("Why it cannot be used; else empty.", ""),
    }),
    Namespace: ObjectText("A Namespace.", {
        "name": ("Its name.", "metadata.name"),
        "quotas": ("Its ResourceQuotas.", ""),
        **_LABELS,
    }),
    PodSetAssignment: ObjectText("What a pod set holds.", {
        "name": ("Name of the pod set.", "podSetAssignments[].name"),
        "flavors": ("Name of the flavor of each resource.", "podSetAssignments[].flavors"),
        "resourceUsage": ("What all its pods use, by resource.", "podSetAssignments[].resourceUsage"),
        "count": ("How many of its pods run.", "podSetAssignments[].count"),
    }),
    FlavorQuotas: ObjectText("The quotas of one flavor.", {
        "name": ("Name of the flavor.", "flavors[].name"),
        "resources": ("The quotas, by resource.", "flavors[].resources"),
    }),
    Requirement: ObjectText("A requirement on labels.", {
        "key": ("Key of the label.", "key"),
        "operator": ("`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.", "operator"),
        "values": ("The values.", "values"),
    }),
    Taint: ObjectText("A taint of nodes.", {
        "key": ("Its key.", "key"),
        "value": ("Its value.", "value"),
        "effect": ("`NoSchedule`, `PreferNoSchedule` or `NoExecute`.", "effect"),
    }),
    ResourceQuota: ObjectText("A ResourceQuota of a namespace, by resource name as written in it.", {
        "name": ("Its name.", "metadata.name"),
        "hard": ("The limits.", "`status.hard`, else `spec.hard`"),
        "used": ("What is used.", "status.used"),
    }),
    Quota: ObjectText("The quota of one flavor and resource. A limit of null is no limit.", {
        "nominalQuota": ("Its quota.", "resources[].nominalQuota"),
        "borrowingLimit": ("How much it may borrow.", "resources[].borrowingLimit"),
        "lendingLimit": ("How much it may lend.", "resources[].lendingLimit"),
    }),
}  # fmt: skip
"""By the type of the object; fields by their names in expressions."""
