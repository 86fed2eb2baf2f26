"""TrainJobs: their pods are defined by a runtime, and an admission is written as a patch of that runtime.

Based on the API of Kubeflow Trainer (trainer.kubeflow.org/v1alpha1) and its controller, which creates a JobSet.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.jobs import counts
from webhook.jobs.job import JobPodSet, Path
from webhook.kube.gvk import GroupVersionKind

GROUP: Final = "trainer.kubeflow.org"
CLUSTER_RUNTIME: Final = GroupVersionKind(GROUP, "v1alpha1", "ClusterTrainingRuntime")
RUNTIME: Final = GroupVersionKind(GROUP, "v1alpha1", "TrainingRuntime")
PATCHER: Final = "kueue.x-k8s.io/manager"
"""The manager of our runtime patch: Kueue's name, which Trainer accepts."""

_ROLE: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER: Final = "trainer"
_SINGLE: Final = (_TRAINER, "dataset-initializer", "model-initializer")
_NODE: Final = "node"
"""The name of the training container; with MPI also of the replicated job."""
_IN_PATCH: Final = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")


def runtime_of(job: dict[str, Any]) -> tuple[GroupVersionKind, str] | None:
    """Return kind and name of a TrainJob's runtime; None if it is of an unknown kind."""
    reference = _dict(_dict(job.get("spec")).get("runtimeRef"))
    kind, name = reference.get("kind", CLUSTER_RUNTIME.kind), reference.get("name")
    gvk_named = {gvk.kind: gvk for gvk in (CLUSTER_RUNTIME, RUNTIME)}.get(kind) if isinstance(kind, str) else None
    if gvk_named is None or reference.get("apiGroup", GROUP) != GROUP or not isinstance(name, str):
        return None
    return gvk_named, name


def pod_sets_of(job: dict[str, Any], runtime: dict[str, Any]) -> tuple[JobPodSet, ...]:
    """Return the pod sets of a TrainJob: its runtime's replicated jobs, with the job's nodes and resources.

    Patches of the runtime by others are ignored.
    """
    spec = _dict(runtime.get("spec"))
    policy = spec.get("mlPolicy") if isinstance(spec.get("mlPolicy"), dict) else None
    trainer = _dict(_dict(job.get("spec")).get("trainer"))
    where: Path = ("spec", "runtimePatches", _place_of_ours(job), *_IN_PATCH)
    pod_sets = []
    for number, replicated in enumerate(_replicated_jobs(spec)):
        inner = _dict(_dict(replicated.get("template")).get("spec"))
        role = _dict(_dict(_dict(replicated.get("template")).get("metadata")).get("labels")).get(_ROLE)
        name = str(replicated.get("name"))
        jobs = 1 if role in _SINGLE else counts.number(replicated, "replicas")
        template = _dict(inner.get("template"))
        if _has_resources(name, role, policy):
            template = _with_resources(template, _dict(trainer.get("resourcesPerNode")))
        count = jobs * _nodes(name, role, counts.number(inner, "parallelism"), policy, trainer)
        place = (*where, number, "template", "spec", "template")
        pod_sets.append(JobPodSet(name, count, template, (), made=True, place=place, jobs=jobs))
    return tuple(pod_sets)


def with_patch(job: dict[str, Any], pod_sets: tuple[JobPodSet, ...]) -> dict[str, Any]:
    """Return a TrainJob with an empty patch of ours for each of its pod sets; patches by others are kept."""
    patches, at = _patches(job), _place_of_ours(job)
    ours: Any = [{"name": pods.name} for pods in pod_sets]
    for step in reversed(_IN_PATCH):
        ours = {step: ours}
    return _with_patches(job, [*patches[:at], {"manager": PATCHER, **ours}, *patches[at + 1 :]])


def without_patch(job: dict[str, Any]) -> dict[str, Any]:
    """Return a TrainJob without our patch."""
    return _with_patches(job, [patch for patch in _patches(job) if patch.get("manager") != PATCHER])


def _place_of_ours(job: dict[str, Any]) -> int:
    """Return the index of our patch among the patches of a TrainJob; their number if there is none."""
    owners = [patch.get("manager") for patch in _patches(job)]
    return owners.index(PATCHER) if PATCHER in owners else len(owners)


def _patches(job: dict[str, Any]) -> list[dict[str, Any]]:
    patches = _dict(job.get("spec")).get("runtimePatches")
    return [patch for patch in patches if isinstance(patch, dict)] if isinstance(patches, list) else []


def _with_patches(job: dict[str, Any], patches: list[dict[str, Any]]) -> dict[str, Any]:
    rest = {name: value for name, value in _dict(job.get("spec")).items() if name != "runtimePatches"}
    return {**job, "spec": {**rest, **({"runtimePatches": patches} if patches else {})}}


def _replicated_jobs(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rows = _dict(_dict(spec.get("template")).get("spec")).get("replicatedJobs")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _nodes(name: str, role: Any, own: int, policy: dict[str, Any] | None, trainer: dict[str, Any]) -> int:
    """Return the number of pods of one Job: for training nodes by the TrainJob, else by the runtime's policy."""
    mpi = policy.get("mpi") if policy else None
    count = counts.number(policy, "numNodes") if role == _TRAINER and policy is not None else own
    if "numNodes" in trainer and (name == _NODE if isinstance(mpi, dict) else role == _TRAINER):
        launches = isinstance(mpi, dict) and mpi.get("runLauncherAsNode") is True
        count = counts.number(trainer, "numNodes") - launches
    return max(count, 1)


def _has_resources(name: str, role: Any, policy: dict[str, Any] | None) -> bool:
    """Return whether a TrainJob's resourcesPerNode apply to a replicated job."""
    launches = _dict(_dict(policy).get("mpi")).get("runLauncherAsNode") is True
    return policy is not None and (role == _TRAINER or (launches and name == _NODE))


def _with_resources(template: dict[str, Any], resources: dict[str, Any]) -> dict[str, Any]:
    """Return a template with these requests and limits merged into those of its container `node`."""
    spec = _dict(template.get("spec"))
    containers = spec.get("containers")
    if not resources or not isinstance(containers, list):
        return template
    placed = [
        {**each, "resources": _over(_dict(each.get("resources")), resources)} if each.get("name") == _NODE else each
        for each in containers
        if isinstance(each, dict)
    ]
    return {**template, "spec": {**spec, "containers": placed}}


def _over(own: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return own | {name: {**_dict(own.get(name)), **_dict(new[name])} for name in ("limits", "requests") if name in new}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
