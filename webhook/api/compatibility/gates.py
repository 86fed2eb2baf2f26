"""Kueue's feature gates (0.20): which have an effect in Sluice, and what Sluice does for the others."""

from __future__ import annotations

from typing import Final

READ: Final = frozenset(
    {
        "AdmissionFairSharing",
        "AdmissionGatedBy",
        "AssignQueueLabelsForPods",
        "ConcurrentAdmission",
        "DisableWaitForPodsReady",
        "FailureRecoveryPolicy",
        "FairSharingPreemptWithinNominal",
        "FairSharingPrioritizeNonBorrowing",
        "FlavorFungibility",
        "LWSImmutableGroupSize",
        "LocalQueueMetrics",
        "PartialAdmission",
        "PrioritizePreemptorWorkloads",
        "PriorityBoost",
        "PrioritySortingWithinCohort",
        "QuotaCheckStrategy",
        "ReclaimablePods",
        "RecomputeAssignmentUponPreemptionTargetsOverlap",
        "RejectUpdatesToCQWithInvalidOnFlavors",
        "SkipReassignmentForPodOwnedWorkloads",
        "TopologyAwareScheduling",
        "ValidateRayAndSparkJobUpdates",
        "WorkloadIdentifierAnnotations",
        "WorkloadPriorityClassDefaulting",
        "WorkloadValidateResourcesAreNonNegative",
        "WorkloadValidationForPodSetMetadata",
    }
)
"""Those that code, rule files or shipped policies read."""
SAME: Final = frozenset(
    {
        "RemoveFinalizersWithStrictPatch",
        "SchedulerLibraryIntegration",
        "SchedulingEquivalenceHashing",
        "TLSOptions",
        "TASCacheNodeMatchResults",
        "TASCacheTopologyTree",
        "TASCachingRemainingResources",
        "VectorizedResourceRequests",
        "WorkloadRequestUseMergePatch",
    }
)
"""Those that change how Kueue works, and nothing that it decides or writes."""
FIXED: Final = {
    "CleanupProvisioningRequestsOnEviction": True,
    "CustomMetricLabels": False,
    "DeferRayServiceFinalizationForRedisCleanup": False,
    "ElasticJobsViaWorkloadSlices": True,
    "ElasticJobsViaWorkloadSlicesWithTAS": False,
    "FastQuotaReleaseInPodIntegration": False,
    "FinishOrphanedWorkloads": True,
    "FlavorFungibilityPreserveScanProgress": True,
    "KueueDRAIntegration": False,
    "KueueDRAIntegrationConsumableCapacity": False,
    "KueueDRAIntegrationExtendedResource": False,
    "KueueDRAIntegrationPartitionableDevices": False,
    "KueueDRARejectWorkloadsWhenDRADisabled": True,
    "ManagedJobsNamespaceSelectorAlwaysRespected": True,
    "MetricForWorkloadCreationLatency": True,
    "MetricsForCohorts": True,
    "MultiKueue": False,
    "MultiKueueAdaptersForCustomJobs": False,
    "MultiKueueClusterProfile": False,
    "MultiKueueIncrementalDispatcherConfig": False,
    "MultiKueueIncrementalDispatcherRespectConfigOrder": False,
    "MultiKueueKubeConfigPathValidation": False,
    "MultiKueueManagerQuotaAutomation": False,
    "MultiKueueOrchestratedPreemption": False,
    "MultiKueueRemoteSpecSync": False,
    "PodIntegrationValidateGroupOwner": True,
    "ShortWorkloadNames": False,
    "SkipAncestorCheckForDeletedWorkloads": True,
    "SparkApplicationIntegration": True,
    "TASAssignmentsEncodingByHostnamePrefix": False,
    "TASBalancedPlacement": False,
    "TASFailedNodeReplacement": False,
    "TASFailedNodeReplacementFailFast": False,
    "TASHandleOverlappingFlavors": False,
    "TASMultiLayerTopology": False,
    "TASProfileMixed": False,
    "TASRecomputeAssignmentWithinSchedulingCycle": False,
    "TASReplaceNodeDueToNotReadyOverFixedTime": False,
    "TASReplaceNodeOnNodeTaints": False,
    "TASReplaceNodeOnPodTermination": False,
    "TASRespectNodeAffinityPreferred": False,
    "TASValidateWorkloadSliceSize": False,
    "UnadmittedWorkloadsExplicitStatus": False,
    "UnadmittedWorkloadsObservability": True,
    "VisibilityOnDemand": True,
}
"""All others: whether Sluice does as Kueue with the gate on."""


def effect(gate: str) -> str:
    """Return what setting a gate does, in a word or two: for the page."""
    if gate in READ:
        return "as in Kueue"
    if gate in SAME:
        return "no difference"
    return "always on" if FIXED[gate] else "always off"
