"""TrainJobs: their pods stand in the runtime that they name, and an admission is written as a patch of that runtime.

Facts are those of Kubeflow Trainer's API (trainer.kubeflow.org/v1alpha1) and of its controller, which makes a JobSet.
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
"""Who a runtime patch belongs to: the queue's has Kueue's name, which Trainer knows."""

_ROLE: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER: Final = "trainer"
_SINGLE: Final = (_TRAINER, "dataset-initializer", "model-initializer")
_NODE: Final = "node"
"""The name of the container, and with MPI of the replicated job, that trains."""
_IN_PATCH: Final = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")


def runtime_of(job: dict[str, Any]) -> tuple[GroupVersionKind, str] | None:
    """Give kind and name of the runtime that a TrainJob names; None where it is of no kind that we know."""
    reference = _dict(_dict(job.get("spec")).get("runtimeRef"))
    kind, name = reference.get("kind", CLUSTER_RUNTIME.kind), reference.get("name")
    found = {gvk.kind: gvk for gvk in (CLUSTER_RUNTIME, RUNTIME)}.get(kind) if isinstance(kind, str) else None
    if found is None or reference.get("apiGroup", GROUP) != GROUP or not isinstance(name, str):
        return None
    return found, name


def pod_sets_of(job: dict[str, Any], runtime: dict[str, Any]) -> tuple[JobPodSet, ...]:
    """Give the pods of a TrainJob: those of the replicated jobs of its runtime, with its own nodes and resources.

    Patches that others made of the runtime are not looked at.
    """
    spec = _dict(runtime.get("spec"))
    policy = spec.get("mlPolicy") if isinstance(spec.get("mlPolicy"), dict) else None
    trainer = _dict(_dict(job.get("spec")).get("trainer"))
    where: Path = ("spec", "runtimePatches", _place_of_ours(job), *_IN_PATCH)
    found = []
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
        found.append(JobPodSet(name, count, template, (), made=True, place=place, jobs=jobs))
    return tuple(found)


def with_patch(job: dict[str, Any], pod_sets: tuple[JobPodSet, ...]) -> dict[str, Any]:
    """Give a TrainJob with an empty patch of ours for each of its pod sets; those of others stay."""
    patches, at = _patches(job), _place_of_ours(job)
    ours: Any = [{"name": pods.name} for pods in pod_sets]
    for step in reversed(_IN_PATCH):
        ours = {step: ours}
    return _with_patches(job, [*patches[:at], {"manager": PATCHER, **ours}, *patches[at + 1 :]])


def without_patch(job: dict[str, Any]) -> dict[str, Any]:
    """Give a TrainJob without our patch."""
    return _with_patches(job, [patch for patch in _patches(job) if patch.get("manager") != PATCHER])


def _place_of_ours(job: dict[str, Any]) -> int:
    """Give where our patch stands among the patches of a TrainJob, or will."""
    owners = [patch.get("manager") for patch in _patches(job)]
    return owners.index(PATCHER) if PATCHER in owners else len(owners)


def _patches(job: dict[str, Any]) -> list[dict[str, Any]]:
    found = _dict(job.get("spec")).get("runtimePatches")
    return [patch for patch in found if isinstance(patch, dict)] if isinstance(found, list) else []


def _with_patches(job: dict[str, Any], patches: list[dict[str, Any]]) -> dict[str, Any]:
    rest = {name: value for name, value in _dict(job.get("spec")).items() if name != "runtimePatches"}
    return {**job, "spec": {**rest, **({"runtimePatches": patches} if patches else {})}}


def _replicated_jobs(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found = _dict(_dict(spec.get("template")).get("spec")).get("replicatedJobs")
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _nodes(name: str, role: Any, own: int, policy: dict[str, Any] | None, trainer: dict[str, Any]) -> int:
    """Count the pods of one Job: the nodes that train are the TrainJob's to say, then the runtime's policy's."""
    mpi = policy.get("mpi") if policy else None
    count = counts.number(policy, "numNodes") if role == _TRAINER and policy is not None else own
    if "numNodes" in trainer and (name == _NODE if isinstance(mpi, dict) else role == _TRAINER):
        launches = isinstance(mpi, dict) and mpi.get("runLauncherAsNode") is True
        count = counts.number(trainer, "numNodes") - launches
    return max(count, 1)


def _has_resources(name: str, role: Any, policy: dict[str, Any] | None) -> bool:
    """Say whether the resources of a TrainJob's nodes are those of a replicated job."""
    launches = _dict(_dict(policy).get("mpi")).get("runLauncherAsNode") is True
    return policy is not None and (role == _TRAINER or (launches and name == _NODE))


def _with_resources(template: dict[str, Any], resources: dict[str, Any]) -> dict[str, Any]:
    """Give a template whose container `node` has these requests and limits over its own."""
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
