"""What others count on is deleted last: the finalizer `resource-in-use` goes when nobody uses the object any more."""

import asyncio

from tests.cluster.world import job, queues, world
from webhook.cluster.api.kinds import CLUSTER_QUEUE, FLAVOR
from webhook.cluster.queues.in_use import IN_USE
from webhook.kube.conditions import find
from webhook.store.errors import NotFound
from webhook.store.objects import merge

IN_USE_TOO = {"metadata": {"finalizers": ["example.com/mine", IN_USE]}}


def held(objects):
    """The queue with our finalizer, its flavor with somebody else's too."""
    ours = {"ClusterQueue": {"metadata": {"finalizers": [IN_USE]}}, "ResourceFlavor": IN_USE_TOO}
    return [merge(obj, ours.get(obj["kind"], {})) for obj in objects]


def test_a_queue_goes_with_the_last_workload_that_holds_its_quota_and_then_its_flavor():
    """Until then both are there, the queue admits nothing more and says that it is being deleted."""

    async def go():
        objects = held(queues("1"))
        names = {obj["kind"]: obj["metadata"]["name"] for obj in objects}
        queue, flavor = (CLUSTER_QUEUE, names["ClusterQueue"], None), (FLAVOR, names["ResourceFlavor"], None)
        async with world(*objects, seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await w.store.delete(*queue)
            await w.store.delete(*flavor)

            async def terminating():
                return find(await w.store.get(*queue), "Active")["reason"] == "Terminating"

            await w.until(terminating, "the queue is being deleted")
            assert (await w.store.get(*flavor))["metadata"]["finalizers"] == ["example.com/mine", IN_USE]
            await w.kubelet.end("a")

            async def gone():
                try:
                    await w.store.get(*queue)
                except NotFound:
                    return True
                return False

            await w.until(gone, "the queue is gone")

            async def freed():
                return (await w.store.get(*flavor))["metadata"]["finalizers"] == ["example.com/mine"]

            await w.until(freed, "the flavor is let go")

    asyncio.run(go())
