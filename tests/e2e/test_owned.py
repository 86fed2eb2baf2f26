"""What an admitted job's controller makes is shaped but not queued; any other owner counts as none."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.articles import prepare
from tests.e2e.sluice import Sluice

pytestmark = pytest.mark.cluster

JSON = dict[str, Any]
QUEUE = {"kueue.x-k8s.io/queue-name": "owned"}


def template() -> JSON:
    container = {"name": "main", "image": "example/main:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def metadata(name: str) -> JSON:
    return {"name": name, "namespace": "default", "labels": QUEUE}


def jobset(name: str) -> JSON:
    replicated = {"name": "workers", "replicas": 1, "template": {"spec": {"parallelism": 1, "template": template()}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata(name),
        "spec": {"replicatedJobs": [replicated]},
    }


def owned_job(owner: JSON, uid: str) -> JSON:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": uid,
        "controller": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata("owned"), "ownerReferences": [reference]},
        "spec": {"template": template()},
    }


@pytest.fixture
def quota(control_plane: ControlPlane, kube: Client, sluice: Sluice) -> Iterator[None]:
    """A LocalQueue with room for all that is asked for here."""
    prepare(kube)
    kueue = "kueue.x-k8s.io/v1beta2"
    covered = ["cpu", "memory", "nvidia.com/gpu"]
    flavor = {"name": "owned", "resources": [{"name": name, "nominalQuota": "1000"} for name in covered]}
    group = {"coveredResources": covered, "flavors": [flavor]}
    made = [
        {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "owned"}, "spec": {}},
        {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": "owned"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": "owned", "namespace": "default"},
            "spec": {"clusterQueue": "owned"},
        },
    ]
    for obj in made:
        kube.create(obj)
    yield
    paths = [kube.path_of(obj) for obj in reversed(made)]
    for path in paths:
        kube.delete(path)
    control_plane.wait(
        "nobody uses the queue and its flavor", lambda: all(kube.request("GET", path).status == 404 for path in paths)
    )


def shaped_only(kube: Client, owner: JSON) -> bool:
    """Whether the Job of an owner is left unsuspended: it is as soon as the owner's quota is in Sluice's view."""
    job = kube.create(owned_job(owner, owner["metadata"]["uid"]), dry_run=True)
    assert any(t["key"] == "nvidia.com/gpu" for t in job["spec"]["template"]["spec"]["tolerations"])
    return job["spec"]["suspend"] is False


def test_the_jobs_of_an_admitted_jobset_are_shaped_but_start_at_once(
    control_plane: ControlPlane, kube: Client, quota: None
) -> None:
    """The JobSet is held, then started; its Job gets the toleration and is not held, or the two would wait for ever."""
    owner = kube.create(jobset("gang"))
    try:
        assert owner["spec"]["suspend"] is True
        control_plane.wait("the Job of a JobSet is left unsuspended", lambda: shaped_only(kube, owner))
        job = kube.create(owned_job(owner, "00000000-1111-2222-3333-444444444444"), dry_run=True)
        assert job["spec"]["suspend"] is True, "a forged uid is no owner"
    finally:
        kube.delete(kube.path_of(owner))


def test_a_small_job_of_one_s_own_frees_no_other(control_plane: ControlPlane, kube: Client, quota: None) -> None:
    """A Job that names an admitted Job as its owner is suspended: a Job's controller makes Pods, and no Jobs."""
    small = kube.create({**owned_job(jobset("none"), "none"), "metadata": metadata("small")})
    job = owned_job(small, small["metadata"]["uid"])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": job["metadata"], **template()}
    try:
        control_plane.wait(
            "the Pod of an admitted Job is not gated",
            lambda: "schedulingGates" not in kube.create(pod, dry_run=True)["spec"],
        )
        assert kube.create(job, dry_run=True)["spec"]["suspend"] is True
    finally:
        kube.delete(kube.path_of(small))


def test_a_job_that_waits_frees_no_other(kube: Client, sluice: Sluice) -> None:
    """A Job that would run below a JobSet that waits for its queue is suspended like any other."""
    prepare(kube)
    waits = {**jobset("waits"), "metadata": {**metadata("waits"), "labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}}
    owner = kube.create(waits)
    try:
        assert not shaped_only(kube, owner)
    finally:
        kube.delete(kube.path_of(owner))
