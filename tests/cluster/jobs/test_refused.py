"""A job that its own controller refuses gives its quota back, and waits until its user has mended it."""

import asyncio

from tests.cluster.small_cluster import below, job, queues, small_cluster
from webhook.api.snapshot.workload import is_on_hold
from webhook.cluster.api.kinds import WORKLOAD
from webhook.kube.conditions import holds
from webhook.kube.gvk import POD, GroupVersionKind

RAY_JOB = GroupVersionKind("ray.io", "v1", "RayJob")


def ray_job(name):
    """A RayJob of a head, which submits itself."""
    inner = job(name)
    head = {"headGroupSpec": {"template": inner["spec"]["template"]}}
    spec = {"suspend": True, "submissionMode": "HTTPMode", "rayClusterSpec": head}
    return {**inner, "apiVersion": "ray.io/v1", "kind": RAY_JOB.kind, "spec": spec}


def test_a_ray_job_that_kuberay_refuses_holds_no_quota():
    """Another is admitted in its place; when it is refused no more, it is suspended and waits in its queue."""

    async def go():
        async with small_cluster(*queues("1", labels={"zone": "a"})) as w:

            async def says(state):
                status = {"status": {"jobDeploymentStatus": state}}
                await w.store.patch(RAY_JOB, "bad", "team-a", status, subresource="status")

            async def on_hold():
                return is_on_hold(await w.workload("bad"))

            async def waits():
                return not await on_hold()

            async def is_started():
                return (await w.store.get(RAY_JOB, "bad", "team-a"))["spec"]["suspend"] is False

            await w.create(ray_job("bad"))
            await w.until_condition("bad", "Admitted")
            await says("ValidationFailed")
            await w.until(on_hold, "it is on hold")
            await w.create(job("good"))
            await w.until_condition("good", "Finished")
            held = await w.workload("bad")
            await says("Initializing")
            await says("Suspended")
            await w.until(waits, "it waits")
            await w.until_condition("bad", "Admitted")
            await w.until(is_started, "it is started")
            return held, (await w.store.get(RAY_JOB, "bad", "team-a"))["spec"]

    held, spec = asyncio.run(go())
    assert not holds(held, "Finished")
    assert held["status"].get("admission") is None
    assert spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}


async def refused_while_it_runs(w):
    """A RayJob has a pod when it is edited so that KubeRay refuses it; a job waits for its quota."""
    await w.create(ray_job("bad"))
    await w.until_condition("bad", "Admitted")

    async def is_started():
        return (await w.store.get(RAY_JOB, "bad", "team-a"))["spec"]["suspend"] is False

    await w.until(is_started, "it is started")
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "head", "namespace": "team-a"}}
    await w.create(below(await w.store.get(RAY_JOB, "bad", "team-a"), head), job("good"))
    await w.until_condition("good", "QuotaReserved", "False")
    status = {"status": {"jobDeploymentStatus": "ValidationFailed"}}
    await w.store.patch(RAY_JOB, "bad", "team-a", status, subresource="status")
    await asyncio.sleep(1)


def test_a_ray_job_that_is_refused_while_it_runs_holds_its_quota_until_its_pods_are_gone():
    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await refused_while_it_runs(w)
            held = await w.workload("bad")
            await w.store.delete(POD, "head", "team-a")
            await w.until_runs("good")
            return held, await w.workload("bad")

    held, after = asyncio.run(go())
    assert holds(held, "QuotaReserved")
    assert is_on_hold(after)


def test_a_refused_ray_job_that_runs_can_be_evicted():
    """It is suspended, which ends its pods: whoever preempts it would wait for them without end."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await refused_while_it_runs(w)
            name = (await w.workload("bad"))["metadata"]["name"]
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})

            async def is_stopped():
                return (await w.store.get(RAY_JOB, "bad", "team-a"))["spec"]["suspend"]

            await w.until(is_stopped, "it is suspended")
            held = await w.workload("bad")
            await w.store.delete(POD, "head", "team-a")
            await w.until_runs("good")
            return held

    assert holds(asyncio.run(go()), "QuotaReserved")
