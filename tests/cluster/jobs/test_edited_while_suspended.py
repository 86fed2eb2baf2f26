"""A user suspends an admitted job and makes its pods larger: it is queued again, and never runs with the old quota."""

import asyncio

import pytest

from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.cluster.jobs.start_stop import started
from webhook.jobs.read_job import read_job
from webhook.kube.gvk import POD, GroupVersionKind

KUEUE = "kueue.x-k8s.io/v1beta2"
PYTORCH = GroupVersionKind("kubeflow.org", "v1", "PyTorchJob")


def pytorch(name, cpu):
    """A PyTorchJob of one pod."""
    inner = job(name, cpu)
    roles = {"Master": {"replicas": 1, "template": inner["spec"]["template"]}}
    spec = {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": roles}
    return {**inner, "apiVersion": "kubeflow.org/v1", "kind": PYTORCH.kind, "spec": spec}


def gated(name, cpu):
    """A plain Pod in a queue."""
    made = job(name, cpu)
    metadata = {**made["metadata"], "labels": {**made["metadata"]["labels"], "kueue.x-k8s.io/managed": "true"}}
    spec = {**made["spec"]["template"]["spec"], "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def elastic(name, cpu):
    """A Job that may grow while it runs."""
    made = job(name, cpu)
    metadata = {**made["metadata"], "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
    return {**made, "metadata": metadata}


@pytest.mark.parametrize(
    "kind, make", [(PYTORCH, pytorch), (JOB, job), (JOB, elastic)], ids=["PyTorchJob", "Job", "elastic Job"]
)
def test_a_suspended_job_whose_pods_request_more_is_queued_again(kind, make):
    """Two CPUs are the whole quota: with 64 it waits for ever, and holds nothing."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:

            async def read():
                return await w.store.get(kind, "j", "team-a")

            async def is_started():
                spec = (await read())["spec"]
                return spec.get("suspend", spec.get("runPolicy", {}).get("suspend")) is False

            await w.create(make("j", "1"))
            await w.until_condition("j", "Admitted")
            await w.until(is_started, "it is started")
            await w.store.patch(kind, "j", "team-a", {"spec": make("j", "64")["spec"]})
            await w.until_waits("j", "ExceedsMaxQuota")
            return await is_started(), (await w.workload("j"))["status"].get("admission")

    assert asyncio.run(go()) == (False, None)


def test_the_nodes_of_the_flavor_win_over_what_the_job_says_later():
    """Who is admitted on the flavor of zone a does not move to the nodes of another one."""
    made = job("j")
    made["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "b", "disk": "ssd"}
    assignment = {"name": "main", "flavors": {"cpu": "f"}}
    workload = {"metadata": {"name": "w"}, "status": {"admission": {"podSetAssignments": [assignment]}}}
    runs = started(made, read_job(made), workload, {"f": {"spec": {"nodeLabels": {"zone": "a"}}}})
    assert runs["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a", "disk": "ssd"}


def test_a_gated_pod_that_is_resized_is_queued_again():
    """Its quota is reserved, and a check is pending, when its user resizes it: it does not start with the old quota."""
    check = {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": "c"},
        "spec": {"controllerName": "x/y"},
    }
    check["status"] = {"conditions": [{"type": "Active", "status": "True"}]}
    strategy = {"admissionChecks": [{"name": "c"}]}

    async def go():
        async with small_cluster(*queues("2", admissionChecksStrategy=strategy), check, seconds=None) as w:
            await w.create(gated("p", "1"))
            await w.until_condition("p", "QuotaReserved")
            await w.store.patch(POD, "p", "team-a", {"spec": {"containers": gated("p", "64")["spec"]["containers"]}})
            return await w.until_waits("p", "ExceedsMaxQuota")

    assert "> maximum capacity (2)" in asyncio.run(go())
