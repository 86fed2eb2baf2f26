"""What others count on is deleted last: the finalizer `resource-in-use` goes when nobody uses the object any more."""

import asyncio

from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.cluster.api.finalizers import FINALIZER as IN_USE
from webhook.cluster.api.kinds import ADMISSION_CHECK, CLUSTER_QUEUE, FLAVOR, TOPOLOGY
from webhook.cluster.queues.in_use import unheld, unnamed
from webhook.cluster.queues.status import QueueCount
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
        async with small_cluster(*objects, seconds=None) as w:
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


def test_a_queue_that_came_while_others_were_counted_is_not_let_go():
    """Whether anybody holds its quota is not known yet."""
    queue = {"metadata": {"name": "q", "finalizers": [IN_USE], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    counted = {"q": QueueCount("q")}
    assert (unheld([queue], {}), unheld([queue], counted)) == ([], [queue])


def test_a_check_gets_the_finalizer_and_goes_when_no_queue_names_it():
    """The leader marks it; deleted, it stays as long as a ClusterQueue asks for it."""

    async def go():
        check = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": "nodes"},
            "spec": {"controllerName": "example.com/nodes"},
        }
        strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "nodes"}]}}
        objects = queues("1", **strategy)
        queue = next(obj["metadata"]["name"] for obj in objects if obj["kind"] == "ClusterQueue")
        async with small_cluster(*objects, check, seconds=None) as w:

            async def marked():
                return (await w.store.get(ADMISSION_CHECK, "nodes"))["metadata"].get("finalizers") == [IN_USE]

            await w.until(marked, "the check is marked")
            await w.store.delete(ADMISSION_CHECK, "nodes", None)
            assert (await w.store.get(ADMISSION_CHECK, "nodes"))["metadata"]["deletionTimestamp"]
            await w.store.patch(CLUSTER_QUEUE, queue, None, {"spec": {"admissionChecksStrategy": None}})

            async def gone():
                try:
                    await w.store.get(ADMISSION_CHECK, "nodes")
                except NotFound:
                    return True
                return False

            await w.until(gone, "the check is gone")

    asyncio.run(go())


def test_a_topology_goes_when_no_flavor_names_it():
    """Kueue's controller marked it, as ours does with one that is new; a flavor that names it keeps it."""

    async def go():
        head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology"}
        levels = {"spec": {"levels": [{"nodeLabel": "rack"}]}}
        objects = [merge(obj, {"spec": {"topologyName": "old"}}) if obj["kind"] == "ResourceFlavor" else obj
                   for obj in held(queues("1"))]  # fmt: skip
        old = {**head, "metadata": {"name": "old", "finalizers": [IN_USE]}, **levels}
        async with small_cluster(*objects, old, {**head, "metadata": {"name": "new"}, **levels}) as w:

            async def marked():
                return (await w.store.get(TOPOLOGY, "new"))["metadata"].get("finalizers") == [IN_USE]

            await w.until(marked, "the new one is marked")
            for name in ("new", "old"):
                await w.store.delete(TOPOLOGY, name, None)

            async def left():
                return [obj["metadata"]["name"] for obj in (await w.store.list(TOPOLOGY)).items]

            async def one_is_gone():
                return await left() == ["old"]

            async def all_are_gone():
                return await left() == []

            await w.until(one_is_gone, "the one that nothing names is gone")
            await w.store.patch(FLAVOR, "f", None, {"spec": {"topologyName": None}})
            await w.until(all_are_gone, "the other is gone as well")

    asyncio.run(go())


def test_what_only_a_queue_that_is_gone_named_is_let_go_with_it():
    """In the same pass: a script that deletes all of them may make them again at once."""
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [IN_USE]}
    checks = [{"kind": "AdmissionCheck", "metadata": {"name": name, **leaving}} for name in ("a", "b")]
    queues = [
        {
            "kind": "ClusterQueue",
            "metadata": {"name": name, **leaving},
            "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": name}]}},
        }
        for name in ("a", "b")
    ]
    assert unnamed(checks, queues) == []
    assert unnamed(checks, queues[1:]) == checks[:1]
