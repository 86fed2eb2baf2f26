"""A Workload that somebody deactivated stays so, whatever changes in its job and in what the job goes by."""

import asyncio

import pytest

from tests.cluster.jobs.test_pod_parents import name_of, stateful_set, until_workload
from tests.cluster.jobs.test_priority import CLASS, labelled, of_class
from tests.cluster.small_cluster import JOB, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD, WORKLOAD_CLASS
from webhook.kube.conditions import find
from webhook.store.objects import merge

OFF = {"spec": {"active": False}}
OTHER_QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "other", "namespace": "team-a"},
    "spec": {"clusterQueue": "cq"},
}
LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l", "namespace": "team-a"},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]},
}


async def relabel(w, **labels):
    await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": labels}})


async def change_the_value(w):
    await w.store.patch(WORKLOAD_CLASS, "low", None, {"value": 7})


async def change_the_class(w):
    await relabel(w, **{CLASS: "high"})


async def change_the_queue(w):
    await relabel(w, **{"kueue.x-k8s.io/queue-name": "other"})


async def limit_the_containers(w):
    await w.create(LIMITS)


async def note_something(w):
    await relabel(w, note="looked-at")


def requests_of(workload):
    [container] = workload["spec"]["podSets"][0]["template"]["spec"]["containers"]
    return container["resources"]["requests"]


@pytest.mark.parametrize(
    "change, arrived",
    [
        (change_the_value, lambda o: o["spec"]["priority"] == 7),
        (change_the_class, lambda o: o["spec"]["priorityClassRef"]["name"] == "high"),
        (change_the_queue, lambda o: o["spec"]["queueName"] == "other"),
        (limit_the_containers, lambda o: "memory" in requests_of(o)),
        (note_something, lambda o: o["metadata"]["labels"].get("note") == "looked-at"),
    ],
)
def test_a_deactivated_workload_follows_its_job_and_stays_deactivated(change, arrived):
    """It ran, and was deactivated; its spec is written anew with each change, but for `active`."""

    async def go():
        classes = of_class("low", value=1), of_class("high", value=5)
        async with small_cluster(*queues("2"), OTHER_QUEUE, *classes, seconds=None) as w:
            await w.create(labelled("a", "low"))
            await w.until_runs("a")
            await w.store.patch(WORKLOAD, (await w.workload("a"))["metadata"]["name"], "team-a", OFF)
            await w.until_waits("a", "Deactivated")
            await change(w)

            async def has_arrived():
                return arrived(await w.workload("a"))

            await w.until(has_arrived, "the change has arrived")
            return (await w.workload("a"))["spec"]["active"], w.kubelet.starts

    assert asyncio.run(go()) == (False, ["a"])


def test_the_deactivated_workload_of_a_stateful_set_stays_deactivated():
    """Its group does not start because its class has another value."""

    async def go():
        async with small_cluster(*queues("1"), of_class("low", value=1), seconds=None) as w:
            [owner] = await w.create(merge(stateful_set(), {"metadata": {"labels": {CLASS: "low"}}}))
            name = name_of(owner)
            await until_workload(w, name, lambda o: find(o, "QuotaReserved"), "waits")
            await w.store.patch(WORKLOAD, name, "team-a", OFF)
            await w.store.patch(WORKLOAD_CLASS, "low", None, {"value": 9})
            return await until_workload(w, name, lambda o: o["spec"]["priority"] == 9, "has the new priority")

    assert asyncio.run(go())["spec"]["active"] is False
