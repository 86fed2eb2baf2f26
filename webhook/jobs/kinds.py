"""The table of job kinds, one row each. Objects are read by it in `read_job.py`.

It follows the kinds' own API types and Kueue's integrations. Fields called suspend with another meaning are left out on
purpose: a CronJob's stops its schedule, a Ray worker group's scales that group to zero.
"""

from __future__ import annotations

from typing import Final

from webhook.jobs import counts
from webhook.jobs.app_wrapper import with_room, without_room, wrapped_pod_sets
from webhook.jobs.job import GroupKind, JobKind, Runtime, Template
from webhook.jobs.made_up_templates import of_ray_head, of_ray_submitter, of_spark_role, of_trainer, spark_roles
from webhook.jobs.train_job import pod_sets_of, runtime_of, with_patch, without_patch

_SUSPEND: Final = ("spec", "suspend")
_POLICY_SUSPEND: Final = ("spec", "runPolicy", "suspend")
_POLICY_PRIORITY: Final = (("spec", "runPolicy", "schedulingPolicy", "priorityClass"),)
_POD: Final[GroupKind] = ("", "Pod")
_JOB: Final[GroupKind] = ("batch", "Job")
_RAY_CLUSTER: Final[GroupKind] = ("ray.io", "RayCluster")


def _replica_specs(field: str, *order: str) -> tuple[Template, ...]:
    return (Template(("spec", field, "*", "template"), counts.field("replicas"), order=order),)


def _ray(*cluster: str) -> tuple[Template, ...]:
    return (
        Template((*cluster, "headGroupSpec", "template"), counts.one, name="head", grown=of_ray_head),
        Template((*cluster, "workerGroupSpecs", "[]", "template"), counts.ray_workers),
    )


def _training(
    kind: str,
    resource: str,
    field: str,
    *order: str,
    versions: tuple[str, ...] = ("v1",),
    makes: tuple[GroupKind, ...] = (_POD,),
) -> JobKind:
    return JobKind(
        "kubeflow.org",
        versions,
        kind,
        resource,
        _POLICY_SUSPEND,
        _replica_specs(field, *order),
        priority_paths=_POLICY_PRIORITY,
        makes=makes,
    )


KINDS: Final[tuple[JobKind, ...]] = (
    JobKind(
        "",
        ("v1",),
        "Pod",
        "pods",
        None,
        (Template((), counts.one, name="main"),),
        note="held by a scheduling gate (KEP-3521) that the policy suspend-pods gives it; stopped by deletion",
        gate="kueue.x-k8s.io/admission",
        makes=(_POD,),  # a Spark driver creates its executors
    ),
    JobKind(
        "batch",
        ("v1",),
        "Job",
        "jobs",
        _SUSPEND,
        (Template(("spec", "template"), counts.job, name="main"),),
        min_count_annotation="kueue.x-k8s.io/job-min-parallelism",
        elastic=True,
        makes=(_POD,),
    ),
    JobKind(
        "batch",
        ("v1",),
        "CronJob",
        "cronjobs",
        None,
        (Template(("spec", "jobTemplate", "spec", "template"), counts.job, name="main"),),
        queued=False,
        note="spec.suspend stops the schedule and is the user's; the Jobs it makes are queued",
    ),
    JobKind(
        "jobset.x-k8s.io",
        ("v1alpha2",),
        "JobSet",
        "jobsets",
        _SUSPEND,
        (Template(("spec", "replicatedJobs", "[]", "template", "spec", "template"), counts.replicated_job),),
        makes=(_JOB,),
    ),
    _training(
        "MPIJob",
        "mpijobs",
        "mpiReplicaSpecs",
        "Launcher",
        "Worker",
        versions=("v2beta1", "v1"),
        makes=(_POD, _JOB),  # v2beta1's launcher is a Job, v1's a Pod
    ),
    _training("PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs", "Master", "Worker"),
    _training("TFJob", "tfjobs", "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    _training("PaddleJob", "paddlejobs", "paddleReplicaSpecs", "Master", "Worker"),
    _training("XGBoostJob", "xgboostjobs", "xgbReplicaSpecs", "Master", "Worker"),
    _training("JAXJob", "jaxjobs", "jaxReplicaSpecs", "Worker"),
    JobKind(
        "trainer.kubeflow.org",
        ("v1alpha1",),
        "TrainJob",
        "trainjobs",
        _SUSPEND,
        (Template(("spec", "trainer"), counts.trainer, name="node", made=of_trainer),),
        note="its pods are in the runtime it names; rules read spec.trainer.resourcesPerNode, and patch nothing",
        runtime=Runtime(runtime_of, pod_sets_of),
        opened=with_patch,
        closed=without_patch,
        makes=(("jobset.x-k8s.io", "JobSet"),),
    ),
    JobKind(
        "ray.io",
        ("v1", "v1alpha1"),
        "RayCluster",
        "rayclusters",
        _SUSPEND,
        _ray("spec"),
        elastic=True,
        makes=(_POD, _JOB),  # a Job cleans up the Redis of a deleted cluster
    ),
    JobKind(
        "ray.io",
        ("v1", "v1alpha1"),
        "RayJob",
        "rayjobs",
        _SUSPEND,
        (
            *_ray("spec", "rayClusterSpec"),
            Template(("spec", "submitterPodTemplate"), counts.ray_submitter, "submitter", default=of_ray_submitter),
        ),
        elsewhere=("spec", "clusterSelector"),
        cluster=("status", "rayClusterName"),
        elastic=True,
        note="with spec.clusterSelector it runs on a cluster that is there already, and is not queued",
        makes=(_RAY_CLUSTER, _JOB),  # a Job submits
    ),
    JobKind(
        "ray.io",
        ("v1", "v1alpha1"),
        "RayService",
        "rayservices",
        ("spec", "rayClusterConfig", "suspend"),
        _ray("spec", "rayClusterConfig"),
        cluster=("status", "activeServiceStatus", "rayClusterName"),
        elastic=True,
        makes=(_RAY_CLUSTER,),
    ),
    JobKind(
        "sparkoperator.k8s.io",
        ("v1beta2",),
        "SparkApplication",
        "sparkapplications",
        _SUSPEND,
        (
            Template(("spec", "driver"), counts.one, name="driver", made=of_spark_role, flat=True),
            Template(("spec", "executor"), counts.spark_executors, "executor", made=of_spark_role, flat=True),
        ),
        spread=spark_roles,
        note="driver and executor are no pod templates: rules read their cores, memory and GPU, and patch nothing",
        makes=(_POD,),
    ),
    JobKind(
        "workload.codeflare.dev",
        ("v1beta2",),
        "AppWrapper",
        "appwrappers",
        _SUSPEND,
        (),
        reader=wrapped_pod_sets,
        wraps=True,
        opened=with_room,
        closed=without_room,
    ),
    JobKind(
        "apps",
        ("v1",),
        "Deployment",
        "deployments",
        None,
        (Template(("spec", "template"), counts.field("replicas"), name="main"),),
        queued=False,
        note="has no suspend; each of its Pods is gated and queued by itself",
    ),
    JobKind(
        "apps",
        ("v1",),
        "StatefulSet",
        "statefulsets",
        None,
        (Template(("spec", "template"), counts.field("replicas"), name="main"),),
        queued=False,
        note="has no suspend; its Pods are gated and queued together",
        grouped=True,
    ),
    JobKind(
        "leaderworkerset.x-k8s.io",
        ("v1",),
        "LeaderWorkerSet",
        "leaderworkersets",
        None,
        (
            Template(("spec", "leaderWorkerTemplate", "leaderTemplate"), counts.group_leaders, name="leader"),
            Template(("spec", "leaderWorkerTemplate", "workerTemplate"), counts.group_workers, name="worker"),
        ),
        queued=False,
        note="has no suspend; its Pods are gated and queued together",
        grouped=True,
    ),
    JobKind(
        "batch.volcano.sh",
        ("v1alpha1",),
        "Job",
        "jobs",
        None,
        (Template(("spec", "tasks", "[]", "template"), counts.field("replicas")),),
        note="has no suspend; Volcano's own scheduler holds it",
        priority_paths=(("spec", "priorityClassName"),),
    ),
    JobKind(
        "kubeflow.org",
        ("v1", "v1beta1", "v1alpha1"),
        "Notebook",
        "notebooks",
        None,
        (Template(("spec", "template"), counts.one, name="main"),),
        queued=False,
        note="spec.template has a spec and no metadata",
    ),
)

BY_KIND: Final = {(k.group, k.kind): k for k in KINDS}
BY_RESOURCE: Final = {(k.group, k.resource): k for k in KINDS}


def kind_of(group: str, kind: str) -> JobKind | None:
    """Return the row of a kind, None if it is not in the table."""
    return BY_KIND.get((group, kind))
