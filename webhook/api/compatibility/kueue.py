"""Kueue's features (0.20) and their state in Sluice. What asks for an unsupported one waits, and lint reports it."""

from __future__ import annotations

from typing import Final

from webhook.api.compatibility.feature import Feature, FeatureState, Sign
from webhook.api.compatibility.feature_fields import by_annotation, by_configuration
from webhook.api.compatibility.kueue_jobs import JOBS

_SCHEDULER: Final = "remove the request; the scheduler of the pods then places them"

_TOPOLOGY: Final = ("required", "preferred", "unconstrained", "podSetGroupName", "podSetSliceRequiredTopology",
                    "podsetSliceRequiredTopologyConstraints")  # fmt: skip
"""What asks for a topology in a pod set. Kueue writes other fields beside these, such as the label that numbers pods,
into the Workloads of all jobs."""

_QUOTA: Final = (
    Feature(
        "ClusterQueue, Cohort, LocalQueue, ResourceFlavor",
        FeatureState.YES,
        "kueue.x-k8s.io v1beta2, v1beta1 converted; quota, borrowing and lending limits, trees of cohorts",
        "tests/queue/test_kueue_cases.py",
    ),
    Feature(
        "queueing strategies",
        FeatureState.YES,
        "StrictFIFO and BestEffortFIFO, or your own rules",
        "tests/cluster/test_controller.py",
        ("SchedulingEquivalenceHashing", "PrioritizePreemptorWorkloads"),
    ),
    Feature(
        "preemption",
        FeatureState.YES,
        "within the queue, reclaim within the cohort, while borrowing with a threshold",
        "tests/queue/test_kueue_cases.py",
        ("PrioritySortingWithinCohort", "RecomputeAssignmentUponPreemptionTargetsOverlap"),
    ),
    Feature(
        "fair sharing",
        FeatureState.YES,
        "weights and both preemption strategies, by the rule file kueue-fair",
        "tests/queue/test_kueue_cases.py",
        ("FairSharingPreemptWithinNominal", "FairSharingPrioritizeNonBorrowing"),
    ),
    Feature(
        "admission fair sharing",
        FeatureState.YES,
        "the decayed usage of LocalQueues orders a queue and its victims, where it has an admissionScope",
        "tests/cluster/queues/test_usage_history.py",
        ("AdmissionFairSharing",),
    ),
    Feature(
        "flavor fungibility",
        FeatureState.YES,
        "whenCanBorrow, whenCanPreempt and preference",
        "tests/queue/test_kueue_cases.py",
        ("FlavorFungibility", "FlavorFungibilityPreserveScanProgress"),
    ),
    Feature(
        "partial admission",
        FeatureState.YES,
        "minCount of pod sets; of the job kinds, only Job has it, by its annotation",
        "tests/queue/test_kueue_cases.py",
        ("PartialAdmission",),
    ),
    Feature(
        "stopPolicy",
        FeatureState.YES,
        "Hold and HoldAndDrain, of ClusterQueue and LocalQueue",
        "tests/queue/test_corners.py",
    ),
    Feature(
        "resource transformations and excluded prefixes",
        FeatureState.YES,
        "`resources` of the settings, or of a Configuration object in files",
        "tests/api/test_counting_settings.py",
    ),
    Feature(
        "quota check strategy",
        FeatureState.YES,
        "BlockUndeclared and IgnoreUndeclared",
        "tests/api/test_counting_settings.py",
        ("QuotaCheckStrategy",),
    ),
    Feature(
        "concurrent admission",
        FeatureState.NO,
        "flavors are tried one after the other; remove the field",
        gates=("ConcurrentAdmission",),
        signs=(Sign("ClusterQueue", ("spec", "concurrentAdmissionPolicy")),),
        ignored_without="ConcurrentAdmission",
    ),
    Feature(
        "dynamic resource allocation",
        FeatureState.NO,
        "quota does not count claimed devices; request a resource such as nvidia.com/gpu",
        "tests/api/test_unsupported.py",
        (
            "KueueDRAIntegration",
            "KueueDRAIntegrationExtendedResource",
            "KueueDRAIntegrationPartitionableDevices",
            "KueueDRAIntegrationConsumableCapacity",
            "KueueDRARejectWorkloadsWhenDRADisabled",
        ),
        (
            Sign("podSet", ("template", "spec", "resourceClaims")),
            *by_configuration("resources", "deviceClassMappings"),
        ),
    ),
)

_PLACES: Final = (
    Feature(
        "topology aware scheduling",
        FeatureState.NO,
        _SCHEDULER,
        "tests/api/test_unsupported.py",
        (
            "TopologyAwareScheduling",
            "TASProfileMixed",
            "TASFailedNodeReplacement",
            "TASFailedNodeReplacementFailFast",
            "TASReplaceNodeOnPodTermination",
            "TASReplaceNodeDueToNotReadyOverFixedTime",
            "TASReplaceNodeOnNodeTaints",
            "TASBalancedPlacement",
            "TASAssignmentsEncodingByHostnamePrefix",
            "TASMultiLayerTopology",
            "TASRespectNodeAffinityPreferred",
            "TASHandleOverlappingFlavors",
            "TASRecomputeAssignmentWithinSchedulingCycle",
            "TASCacheNodeMatchResults",
            "TASCachingRemainingResources",
            "TASCacheTopologyTree",
            "TASValidateWorkloadSliceSize",
            "VectorizedResourceRequests",
            "SchedulerLibraryIntegration",
        ),
        (
            *(Sign("podSet", ("topologyRequest", field)) for field in _TOPOLOGY),
            *by_annotation(
                "podSet",
                "podset-required-topology",
                "podset-preferred-topology",
                "podset-unconstrained-topology",
                "podset-slice-required-topology",
                "podset-slice-required-topology-constraints",
                "podset-slice-size",
                "podset-group-name",
            ),
            Sign("ResourceFlavor", ("spec", "topologyName")),
        ),
        ignored_without="TopologyAwareScheduling",
    ),
    Feature(
        "MultiKueue",
        FeatureState.NO,
        "jobs run in their own cluster; use a ClusterQueue without this check",
        "tests/api/test_unsupported.py",
        (
            "MultiKueue",
            "MultiKueueAdaptersForCustomJobs",
            "MultiKueueClusterProfile",
            "MultiKueueKubeConfigPathValidation",
            "MultiKueueOrchestratedPreemption",
            "MultiKueueIncrementalDispatcherConfig",
            "MultiKueueIncrementalDispatcherRespectConfigOrder",
            "MultiKueueManagerQuotaAutomation",
            "MultiKueueRemoteSpecSync",
        ),
        (
            Sign("AdmissionCheck", ("spec", "controllerName"), "kueue.x-k8s.io/multikueue"),
            Sign("Workload", ("spec", "preemptionGates")),
            Sign("job", ("spec", "managedBy"), "kueue.x-k8s.io/multikueue"),
            Sign("job", ("spec", "runPolicy", "managedBy"), "kueue.x-k8s.io/multikueue"),
            *by_configuration("multiKueue"),
        ),
    ),
    Feature(
        "provisioning requests",
        FeatureState.YES,
        "the requests of a Workload are deleted when it is evicted",
        "tests/cluster/provisioning/test_provisioner.py",
        ("CleanupProvisioningRequestsOnEviction",),
    ),
)

KUEUE: Final[tuple[Feature, ...]] = (*_QUOTA, *_PLACES, *JOBS)
"""Every feature of Kueue, in the order of the page."""
