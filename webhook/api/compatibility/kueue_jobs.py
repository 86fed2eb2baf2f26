"""Kueue's features of workloads and jobs, with their state in Sluice: a part of `kueue.KUEUE`."""

from __future__ import annotations

from typing import Final

from webhook.api.compatibility.feature import Feature, FeatureState

_LIFE: Final = (
    Feature(
        "admission checks",
        FeatureState.YES,
        "Pending, Ready, Retry with back-off, Rejected; onFlavors; podSetUpdates reach the job's templates",
        "tests/cluster/workloads/test_admission_checks.py",
    ),
    Feature(
        "Workload and its conditions",
        FeatureState.YES,
        "QuotaReserved, Admitted, Evicted, Preempted, Requeued, Finished, with Kueue's reasons",
        "tests/cluster/test_controller.py",
        ("RemoveFinalizersWithStrictPatch", "WorkloadRequestUseMergePatch", "UnadmittedWorkloadsObservability"),
    ),
    Feature(
        "Admitted=False from the first moment",
        FeatureState.NO,
        "a Workload has no condition until it is first considered",
        gates=("UnadmittedWorkloadsExplicitStatus",),
    ),
    Feature(
        "workload priority classes",
        FeatureState.YES,
        "WorkloadPriorityClass, else PriorityClass; changes apply to pending and admitted Workloads",
        "tests/cluster/jobs/test_priority.py",
    ),
    Feature(
        "a WorkloadPriorityClass named default",
        FeatureState.YES,
        "the policy priority-class; leave it out, or set the gate to false, to turn it off",
        "policies/priority-class/suite.yaml",
        ("WorkloadPriorityClassDefaulting",),
    ),
    Feature(
        "priority boost by annotation",
        FeatureState.PART,
        "only with the gate in featureGates, as in Kueue",
        "tests/api/test_counting_settings.py",
        ("PriorityBoost",),
    ),
    Feature(
        "admission gated by annotation",
        FeatureState.YES,
        "the annotation admission-gated-by of a job or a Workload",
        "tests/cluster/workloads/test_pending_conditions.py",
        ("AdmissionGatedBy",),
    ),
    Feature(
        "maximum execution time",
        FeatureState.YES,
        "the label max-exec-time-seconds; a Workload that exceeds it is deactivated",
        "tests/cluster/workloads/test_execution_time.py",
    ),
    Feature(
        "all-or-nothing with ready pods",
        FeatureState.YES,
        "time-outs, back-off, blockAdmission; by the rule files pods-ready and block-until-ready",
        "tests/queue/rules/test_evict.py",
        ("DisableWaitForPodsReady",),
    ),
    Feature(
        "reclaimable pods",
        FeatureState.YES,
        "of Job, JobSet and TrainJob, by their status; others may write status.reclaimablePods",
        "tests/jobs/test_reclaimable.py",
        ("ReclaimablePods",),
    ),
    Feature(
        "elastic jobs by workload slices",
        FeatureState.PART,
        "Job, RayCluster, and RayJob and RayService by the size of their RayCluster; a job that is not marked"
        " elastic keeps its admitted size",
        "tests/cluster/jobs/test_elastic.py",
        ("ElasticJobsViaWorkloadSlices", "ElasticJobsViaWorkloadSlicesWithTAS"),
    ),
    Feature(
        "prebuilt workloads",
        FeatureState.YES,
        "named by label or annotation; one of another size ends with the reason OutOfSync",
        "tests/cluster/jobs/test_prebuilt.py",
    ),
    Feature(
        "orphaned workloads",
        FeatureState.YES,
        "a Workload without a job ends when its pods are gone; one that only lost its ownerReference gets it back",
        "tests/cluster/jobs/test_lost_owner.py",
        ("FinishOrphanedWorkloads", "SkipAncestorCheckForDeletedWorkloads"),
    ),
    Feature(
        "retention of finished and deactivated workloads",
        FeatureState.YES,
        "`workloads.afterFinished`, and `afterDeactivatedByKueue`, which deletes the job",
        "tests/cluster/jobs/test_deactivated_retention.py",
    ),
    Feature(
        "recovery of pods stuck in termination",
        FeatureState.YES,
        "off unless the gate is on; then nodes are watched, and `forceDeleteAfter` is the time that pods get",
        "tests/cluster/test_failure_recovery.py",
        gates=("FailureRecoveryPolicy",),
    ),
    Feature(
        "quota back at the first moment of termination",
        FeatureState.NO,
        "quota is reserved until the pods are gone",
        gates=("FastQuotaReleaseInPodIntegration",),
    ),
)

_JOBS: Final = (
    Feature(
        "Job, JobSet, MPIJob, PyTorchJob, TFJob, PaddleJob, XGBoostJob, JAXJob,"
        " RayCluster, RayJob, RayService, AppWrapper",
        FeatureState.YES,
        "suspended by their own field; children of a job that is not admitted stay suspended",
        "tests/jobs/test_read_job.py",
    ),
    Feature(
        "Redis cleanup of a Ray cluster",
        FeatureState.PART,
        "the head holds at least what the cleanup Job requests; the cleanup Job of a deleted RayService is not waited"
        " for",
        "tests/jobs/test_read_job.py",
        ("DeferRayServiceFinalizationForRedisCleanup",),
    ),
    Feature(
        "Ray and Spark jobs stay in their queue",
        FeatureState.YES,
        "the policy stays-queued; leave it out to turn it off",
        "policies/stays-queued/suite.yaml",
        ("ValidateRayAndSparkJobUpdates",),
    ),
    Feature(
        "a RayJob that KubeRay refuses gives its quota back",
        FeatureState.YES,
        "its Workload is on hold until KubeRay takes the job; it is suspended and queued again then",
        "tests/cluster/jobs/test_refused.py",
    ),
    Feature(
        "labels that Workloads copy",
        FeatureState.OTHER,
        "all labels of the job, as they are now, so that rules can look at them; where labelKeysToCopy is set, those"
        " alone, as they were when the Workload was made",
        "tests/api/test_job_to_workload.py",
    ),
    Feature(
        "TrainJob",
        FeatureState.YES,
        "its pods are those of its runtime, its flavors a patch of that; patches of others do not choose flavors,"
        " and files show spec.trainer only",
        "tests/cluster/jobs/test_train_jobs.py",
    ),
    Feature(
        "SparkApplication",
        FeatureState.PART,
        "flavors reach driver and executor; sidecars, init containers and memory overhead hold no quota",
        "tests/cluster/jobs/test_placement.py",
        ("SparkApplicationIntegration",),
    ),
    Feature(
        "integrations left out are not suspended",
        FeatureState.YES,
        "nor jobs in namespaces that managedJobsNamespaceSelector leaves out: `sluice.dev/skip: unmanaged` on a policy",
        "tests/cluster/test_facts.py",
    ),
    Feature(
        "children of a job whose kind is left out",
        FeatureState.OTHER,
        "they run, because no queue admits their owner; Kueue keeps them suspended",
        "tests/cluster/jobs/test_managed.py",
    ),
    Feature(
        "labels of a Workload's pod template",
        FeatureState.OTHER,
        "all those of the job's template, also the ones that the Job controller wrote (controller-uid, job-name)",
        "tests/api/test_job_to_workload.py",
    ),
    Feature(
        "annotations of Workloads",
        FeatureState.OTHER,
        "sluice.dev/arrival, /spec-digest and /renewed in addition to Kueue's: a new leader continues from them",
        "tests/cluster/test_takeover.py",
    ),
    Feature(
        "a runtime patch in every TrainJob",
        FeatureState.OTHER,
        "written when the job is started, not when it is created",
        "tests/cluster/jobs/test_train_jobs.py",
    ),
    Feature(
        "topology requests of JobSets",
        FeatureState.NO,
        "their Workloads do not name the labels that number pods and Jobs",
    ),
    Feature(
        "plain Pods",
        FeatureState.YES,
        "gated one by one by Kueue's scheduling gate, and tracked by its finalizer",
        "tests/cluster/jobs/test_pods.py",
        ("SkipReassignmentForPodOwnedWorkloads",),
    ),
    Feature(
        "pod groups",
        FeatureState.PART,
        "admitted together, with fast admission, replacement and serving; in files each Pod is counted alone",
        "tests/cluster/jobs/test_group_steps.py",
        ("PodIntegrationValidateGroupOwner", "WorkloadIdentifierAnnotations"),
    ),
    Feature(
        "Deployment, StatefulSet, LeaderWorkerSet",
        FeatureState.PART,
        "by the policy suspend-serving; Pods of a set together; groups of fixed size",
        "tests/cluster/jobs/test_pod_parents.py",
        ("LWSImmutableGroupSize",),
    ),
    Feature(
        "removing the queue label of a Deployment, StatefulSet or LeaderWorkerSet",
        FeatureState.OTHER,
        "the label is restored from the annotation that the policy queue-name keeps; Kueue denies it. Removing both is"
        " denied",
        "policies/queue-name/suite.yaml",
    ),
    Feature(
        "parts of a job that is not admitted",
        FeatureState.OTHER,
        "whatever names such a job as its owner waits for it, as anybody may write an owner reference; Kueue lets a Pod"
        " run",
        "tests/policies/test_shipped.py",
    ),
    Feature(
        "jobs without a queue name",
        FeatureState.YES,
        "manageJobsWithoutQueueName and managedJobsNamespaceSelector; a LocalQueue named default takes them, and plain "
        "Pods and serving kinds where integrations.frameworks is set",
        "tests/cluster/jobs/test_managed.py",
        ("ManagedJobsNamespaceSelectorAlwaysRespected",),
    ),
    Feature(
        "queue labels on pods",
        FeatureState.YES,
        "with the label of the pod set and the annotation of the Workload; names that cannot be labels are left out",
        "tests/cluster/jobs/test_placement.py",
        ("AssignQueueLabelsForPods",),
    ),
    Feature(
        "validation of Workloads",
        FeatureState.YES,
        "by the schemas of the CRDs; other invalid Workloads stay pending, and the reason names the field",
        "tests/api/test_validity.py",
        ("WorkloadValidateResourcesAreNonNegative", "WorkloadValidationForPodSetMetadata"),
    ),
    Feature(
        "names of Workloads within 63 letters",
        FeatureState.NO,
        "a name may have 253; Sluice does not use it as a label value",
        gates=("ShortWorkloadNames",),
    ),
    Feature(
        "a ClusterQueue whose onFlavors name no flavor",
        FeatureState.YES,
        "denied by the policy valid-quotas, but where it is stored already and neither onFlavors nor flavors change",
        "policies/queue/valid-quotas/suite.yaml",
        ("RejectUpdatesToCQWithInvalidOnFlavors",),
    ),
)

_AROUND: Final = (
    Feature(
        "visibility of pending workloads",
        FeatureState.YES,
        "the API visibility.kueue.x-k8s.io, by `visibilityListen`; the chart serves it with visibility.enabled",
        "tests/daemon/test_visibility.py",
        ("VisibilityOnDemand",),
    ),
    Feature(
        "metrics",
        FeatureState.PART,
        "those of queues and cohorts, under Kueue's names; none of MultiKueue and of details of its cycle, no custom"
        " labels",
        "tests/cluster/queues/test_metrics.py",
        ("LocalQueueMetrics", "MetricsForCohorts", "MetricForWorkloadCreationLatency", "CustomMetricLabels"),
    ),
    Feature(
        "TLS options",
        FeatureState.OTHER,
        "TLS 1.2 or newer; the certificates are Sluice's own or cert-manager's",
        "tests/tls",
        ("TLSOptions",),
    ),
    Feature(
        "kueuectl, KueueViz, importer",
        FeatureState.OTHER,
        "kueuectl works on the same objects; `sluice` replaces the others",
        "tests/cli",
    ),
)

JOBS: Final[tuple[Feature, ...]] = (*_LIFE, *_JOBS, *_AROUND)
"""In the order of the page."""
