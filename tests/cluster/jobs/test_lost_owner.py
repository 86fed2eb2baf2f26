"""Workloads that lost the reference to their job: they get it back while the job lives, and end where it is gone."""

import asyncio

from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import POD
from webhook.store.objects import merge

LOSES = {"metadata": {"ownerReferences": None}}


async def left_behind(w):
    """Give the name of the Workload of a job that is deleted without what it owns; its pod `p` runs, `b` waits.

    As `kubectl delete --cascade=orphan` does: the garbage collector takes off the references, then goes the job.
    """
    [made] = await w.create(merge(job("a"), {"metadata": {"finalizers": ["orphan"]}}))
    name = (await w.until_condition("a", "Admitted"))["metadata"]["name"]
    labels = {"batch.kubernetes.io/controller-uid": made["metadata"]["uid"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a", "labels": labels},
    }
    await w.create(pod, job("b"))
    await w.until_condition("b", "QuotaReserved", "False")
    await w.store.delete(JOB, "a", "team-a")
    await w.store.patch(WORKLOAD, name, "team-a", LOSES)
    await w.store.patch(JOB, "a", "team-a", {"metadata": {"finalizers": None}})
    return name


def test_a_workload_whose_job_left_it_behind_gives_its_quota_back_when_the_pods_are_gone():
    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            name = await left_behind(w)
            held = await w.store.get(WORKLOAD, name, "team-a")
            await w.store.delete(POD, "p", "team-a")
            await w.until_runs("b")
            return held, await w.store.get(WORKLOAD, name, "team-a")

    held, after = asyncio.run(go())
    assert not holds(held, "Finished")
    assert find(after, "Finished")["reason"] == "OwnerNotFound"
    assert not after["metadata"].get("ownerReferences")
    assert not after["metadata"].get("finalizers")


def test_a_workload_that_lost_its_job_and_is_deactivated_holds_its_quota_while_the_pods_run():
    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            name = await left_behind(w)
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})

            async def told():
                return find(await w.store.get(WORKLOAD, name, "team-a"), "Evicted")

            await w.until(told, "it is evicted")
            await asyncio.sleep(1)
            held, starts = await w.store.get(WORKLOAD, name, "team-a"), list(w.kubelet.starts)
            await w.store.delete(POD, "p", "team-a")
            await w.until_runs("b")
            return held, starts

    held, starts = asyncio.run(go())
    assert holds(held, "QuotaReserved")
    assert "b" not in starts


def test_a_workload_whose_job_lives_gets_its_reference_back():
    """The job runs on: it is neither stopped nor given another Workload."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            before = await w.workload("a")
            await w.store.patch(WORKLOAD, before["metadata"]["name"], "team-a", LOSES)
            after = await w.until_condition("a", "Admitted")
            return before, after, await w.job("a")

    before, after, runs = asyncio.run(go())
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]
    assert runs["spec"]["suspend"] is False


def test_a_workload_that_was_made_by_hand_stays():
    """The Workload has neither owner nor label, and waits for whoever made it."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(job("a"))
            made = await w.until_condition("a", "Admitted")
            spec, metadata = made["spec"], {"name": "by-hand", "namespace": "team-a"}
            await w.create({"apiVersion": made["apiVersion"], "kind": "Workload", "metadata": metadata, "spec": spec})
            await w.store.delete(JOB, "a", "team-a")

            async def admitted():
                return holds(await w.store.get(WORKLOAD, "by-hand", "team-a"), "Admitted")

            await w.until(admitted, "by-hand is admitted")
            return await w.store.get(WORKLOAD, "by-hand", "team-a")

    assert not holds(asyncio.run(go()), "Finished")
