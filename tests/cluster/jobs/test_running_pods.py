"""Pods of a job that still run: its quota is not given back before they are gone, however far below it they are."""

import asyncio

import pytest

from tests.cluster.small_cluster import below, job, jobset, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.jobs.running_pods import owned_pods
from webhook.cluster.jobs.start_stop import WORKLOAD_ANNOTATION
from webhook.jobs.elastic import SLICE
from webhook.kube.conditions import holds
from webhook.kube.gvk import POD
from webhook.store.objects import merge


def made(obj, uid):
    return merge(obj, {"metadata": {"uid": uid}})


TOP = made(jobset("a"), "top")
INNER = made(below(TOP, job("a-w-0")), "inner")
STRANGER = made(job("b"), "stranger")
KNOWN = {"top": TOP, "inner": INNER, "stranger": STRANGER}
GONE = made(job("gone"), "gone")
CHAIN = {"metadata": {"name": "wl", "namespace": "team-a", "annotations": {SLICE: "first"}}}


def pod(*owner, phase="Running", uid="pod", **annotations):
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team-a", "uid": uid}}
    obj = merge(obj, {"metadata": {"annotations": annotations}, "status": {"phase": phase}})
    return below(*owner, obj) if owner else obj


STARTED = {WORKLOAD_ANNOTATION: "wl"}


@pytest.mark.parametrize(
    ("found", "counts"),
    [
        (pod(TOP), 1),
        (pod(INNER), 1),
        (pod(INNER, phase="Pending"), 1),
        (pod(INNER, phase="Succeeded"), 0),
        (merge(pod(), {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "top"}}}), 1),
        (pod(GONE, **STARTED), 1),
        (pod(GONE, **{SLICE: "first"}), 1),
        (pod(GONE, **{WORKLOAD_ANNOTATION: "another"}), 0),
        (pod(GONE), 0),
        (pod(STRANGER, **STARTED), 0),
        (pod(**STARTED), 0),
        (pod(INNER, uid="top"), 0),
    ],
    ids=[
        "its own",
        "of a Job of its",
        "which has no node yet",
        "which has ended",
        "by the label of the Job controller",
        "of a Job that is gone, by what its start wrote",
        "of an earlier Workload of an elastic job",
        "of another Workload",
        "of an unknown owner",
        "of a job whose template was copied",
        "without an owner",
        "the job itself, which is a pod",
    ],
)
def test_a_pod_belongs_to_the_job_above_its_owners(found, counts):
    """Where an owner is gone already, the annotation of its start tells; elsewhere that proves nothing."""
    assert owned_pods([found], "top", CHAIN, lambda reference: KNOWN.get(reference["uid"])) == counts


def test_the_quota_of_a_job_set_is_given_back_after_the_last_pod_of_its_jobs():
    """Its controller counts no Job as active while a pod has its time to end."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            (top,) = await w.create(jobset("a"))
            await w.until_condition("a", "Admitted")
            (inner,) = await w.create(below(top, merge(job("a-w-0"), {"metadata": {"labels": None}})))
            bare = {"metadata": {"name": "p", "namespace": "team-a"}, "status": {"phase": "Running"}}
            await w.create(below(inner, {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}, **bare}))
            name = (await w.workload("a"))["metadata"]["name"]
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            await w.until_condition("a", "Evicted")
            await asyncio.sleep(1.5)
            before = await w.workload("a")
            await w.store.delete(POD, "p", "team-a")
            return before, await w.until_condition("a", "QuotaReserved", "False")

    before, after = asyncio.run(go())
    assert holds(before, "QuotaReserved")
    assert not holds(after, "QuotaReserved")
