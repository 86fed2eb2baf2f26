"""Jobs that a managed job owns are shaped but not queued; a forged owner counts as none (design section 3)."""

from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.articles import prepare
from tests.e2e.sluice import Sluice

pytestmark = pytest.mark.cluster

JSON = dict[str, Any]
QUEUE = {"kueue.x-k8s.io/queue-name": "default"}


def template() -> JSON:
    container = {"name": "main", "image": "example/main:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def jobset(name: str) -> JSON:
    replicated = {"name": "workers", "replicas": 1, "template": {"spec": {"parallelism": 1, "template": template()}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "labels": QUEUE},
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
        "metadata": {"name": "owned", "namespace": "default", "ownerReferences": [reference], "labels": QUEUE},
        "spec": {"template": template()},
    }


def test_the_jobs_of_a_jobset_are_shaped_but_start_at_once(
    control_plane: ControlPlane, kube: Client, sluice: Sluice
) -> None:
    """The JobSet is suspended; its Job gets the toleration and is not suspended, or the two would wait for ever."""
    prepare(kube)
    owner = kube.create(jobset("gang"))
    try:
        assert owner["spec"]["suspend"] is True

        control_plane.wait("the Job of a JobSet is left unsuspended", lambda: shaped_only(kube, owner))
    finally:
        kube.delete(kube.path_of(owner))


def shaped_only(kube: Client, owner: JSON) -> bool:
    """Whether the Job of an owner is left unsuspended: it is as soon as the owner is in Sluice's view."""
    job = kube.create(owned_job(owner, owner["metadata"]["uid"]), dry_run=True)
    assert any(t["key"] == "nvidia.com/gpu" for t in job["spec"]["template"]["spec"]["tolerations"])
    return job["spec"]["suspend"] is False


def test_a_forged_owner_does_not_pass_the_queue(control_plane: ControlPlane, kube: Client, sluice: Sluice) -> None:
    """A Job that names an owner by a wrong uid is suspended like any other."""
    prepare(kube)
    owner = kube.create(jobset("forged"))
    try:
        control_plane.wait("the owner is in Sluice's view", lambda: shaped_only(kube, owner))
        job = kube.create(owned_job(owner, "00000000-1111-2222-3333-444444444444"), dry_run=True)
        assert job["spec"]["suspend"] is True
    finally:
        kube.delete(kube.path_of(owner))
