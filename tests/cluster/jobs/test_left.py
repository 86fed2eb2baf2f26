"""Jobs and pods that leave their queue: what their Workloads hold is given back, and no finalizer stays on a pod."""

import asyncio

import pytest

from tests.cluster.jobs.test_pod_groups import member, workload
from tests.cluster.jobs.test_pods import end, found, gone, pod, started
from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD
from webhook.jobs.read_job import POD_FINALIZER, PRIORITY, QUEUE
from webhook.kube.conditions import find
from webhook.kube.gvk import NAMESPACE, POD
from webhook.store.objects import merge

HIGH = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "high"},
    "value": 9,
}
OTHER_TEAM = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-b", "labels": {"team": "a"}}},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "main", "namespace": "team-b"},
        "spec": {"clusterQueue": "cq"},
    },
]
NO_QUEUE = {"metadata": {"labels": {QUEUE: None}}}


def cluster():
    """A queue of 1 CPU in which the job `high` takes the place of others, and two namespaces that opted in."""
    given = [*queues("1", preemption={"withinClusterQueue": "LowerPriority"}), HIGH, *OTHER_TEAM]
    return small_cluster(*given, seconds=None, opted=lambda labels: labels.get("team") == "a")


async def admitted(w, name, namespace="team-a"):
    """Wait until a job of another namespace, or of this one, is started."""

    async def runs():
        return not (await w.store.get(JOB, name, namespace))["spec"]["suspend"]

    await w.until(runs, f"{name} is started")


async def next_job(w, priority=""):
    """Create a job for which there is quota only if what was there before gives its own back; wait for its start."""
    labels = {PRIORITY: priority} if priority else {}
    await w.create(merge(job("next", namespace="team-b"), {"metadata": {"labels": labels}}))
    await admitted(w, "next", "team-b")


async def takes_off_the_label(w):
    await w.store.patch(JOB, "a", "team-a", NO_QUEUE)


async def opts_out(w):
    await w.store.patch(NAMESPACE, "team-a", None, {"metadata": {"labels": {"team": None}}})


LEAVE = pytest.mark.parametrize("leaves", [takes_off_the_label, opts_out])


@LEAVE
def test_a_job_that_ends_after_it_left_gives_its_quota_back(leaves):
    """Its Workload has ended as it did."""

    async def go():
        async with cluster() as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await leaves(w)
            await w.kubelet.end("a")
            await next_job(w)
            return await w.workload("a")

    assert find(asyncio.run(go()), "Finished")["reason"] == "Succeeded"


@LEAVE
def test_a_job_that_runs_after_it_left_is_not_stopped(leaves):
    """The job keeps its quota until it is preempted; then its Workload goes, and who took its place need not wait."""

    async def go():
        async with cluster() as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await leaves(w)
            await next_job(w, "high")
            return await w.workload("a"), await w.job("a")

    workload_, ran = asyncio.run(go())
    assert workload_ is None
    assert not ran["spec"]["suspend"]


@LEAVE
def test_the_workload_of_a_job_that_left_can_be_deleted(leaves):
    """By hand; nobody holds it by a finalizer then."""

    async def go():
        async with cluster() as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await leaves(w)
            await w.store.delete(WORKLOAD, (await w.workload("a"))["metadata"]["name"], "team-a")
            await next_job(w)
            return await w.workload("a")

    assert asyncio.run(go()) is None


def test_a_job_that_leaves_while_it_waits_is_not_admitted():
    """Its Workload goes at once: it would hold quota, and never be started. It is queued anew when it comes back."""

    async def go():
        async with cluster() as w:
            await w.create(job("first"))
            await w.until_runs("first")
            await w.create(job("a"))
            await w.until_condition("a", "QuotaReserved", "False")
            await takes_off_the_label(w)

            async def away():
                return await w.workload("a") is None

            await w.until(away, "the Workload of a is deleted")
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": {QUEUE: "main"}}})
            await w.kubelet.end("first")
            await w.until_runs("a")

    asyncio.run(go())


def test_a_pod_that_leaves_while_it_waits_gives_its_quota_back():
    """The pod stays behind its gate, and can be deleted."""

    async def go():
        async with cluster() as w:
            await w.create(job("first"))
            await w.until_runs("first")
            await w.create(merge(pod("a"), {"metadata": {"finalizers": [POD_FINALIZER]}}))
            await w.until_condition("a", "QuotaReserved", "False")
            await w.store.patch(POD, "a", "team-a", NO_QUEUE)
            await w.kubelet.end("first")
            await next_job(w)
            gates = (await found(w, "a"))["spec"]["schedulingGates"]
            await w.store.delete(POD, "a", "team-a")
            await gone(w, "a")
            return gates

    assert asyncio.run(go())


def tracked(name):
    """A pod of a group of two, as the policy suspend-pods leaves it."""
    return merge(member(name, cpu="500m"), {"metadata": {"finalizers": [POD_FINALIZER]}})


async def runs_and_opts_out(w):
    """A group of two is started, and its namespace opts out."""
    await w.create(tracked("a"), tracked("b"))
    await started(w, "a")
    await started(w, "b")
    await opts_out(w)


async def can_be_deleted(w):
    """Delete the pods of the group, and wait until they are gone."""
    for name in ("a", "b"):
        await w.store.delete(POD, name, "team-a")
    await gone(w, "a")
    await gone(w, "b")


def test_a_group_of_which_a_pod_leaves_gives_its_quota_back():
    """The group waits; its pods can be deleted."""

    async def go():
        async with cluster() as w:
            await w.create(job("first"))
            await w.until_runs("first")
            await w.create(tracked("a"), tracked("b"))
            await w.until_condition("a", "QuotaReserved", "False")
            await w.store.patch(POD, "a", "team-a", NO_QUEUE)
            await w.kubelet.end("first")
            await next_job(w)
            await can_be_deleted(w)
            return await workload(w)

    assert asyncio.run(go()) is None


def test_a_group_that_ends_after_its_namespace_left_gives_its_quota_back():
    """Its pods can be deleted then."""

    async def go():
        async with cluster() as w:
            await runs_and_opts_out(w)
            await end(w, "a")
            await end(w, "b")
            await next_job(w)
            ended = await workload(w)
            await can_be_deleted(w)
            return ended

    ended = asyncio.run(go())
    assert find(ended, "Finished")["message"] == "Pods succeeded: 2/2."


def test_a_group_that_runs_after_its_namespace_left_is_not_ended():
    """Its Workload goes when it is preempted."""

    async def go():
        async with cluster() as w:
            await runs_and_opts_out(w)
            await next_job(w, "high")
            return [(await found(w, name))["metadata"].get("deletionTimestamp") for name in ("a", "b")]

    assert asyncio.run(go()) == [None, None]
