"""A job whose flavor was deleted while its checks were pending waits for it: without it, it would run on any node."""

import asyncio

import pytest

from tests.cluster.jobs.test_pod_groups import member
from tests.cluster.jobs.test_pods import GATE, found, started
from tests.cluster.small_cluster import job, queues, small_cluster
from tests.cluster.workloads.test_admission_checks import answer, checked
from webhook.api.types.provisioning import ProvisioningRequestConfigSpec
from webhook.cluster.api.event_recorder import EVENT
from webhook.cluster.api.kinds import CLUSTER_QUEUE, FLAVOR
from webhook.cluster.jobs.start_stop import FlavorNotFound
from webhook.cluster.provisioning.requests import made
from webhook.store.objects import merge

KEPT = merge(queues(labels={"pool": "a100"})[1], {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}})
OTHER = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "g"}, "spec": {}}


async def lose_the_flavor(w):
    """Take the flavor out of the queue, so that it may go, and delete it."""
    quota = {"name": "g", "resources": [{"name": "cpu", "nominalQuota": "2"}]}
    await w.create(OTHER)
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": {"resourceGroups": groups}})
    await w.store.delete(FLAVOR, "f", None)

    async def gone():
        return w.view.informer(FLAVOR).get("f") is None

    await w.until(gone, "the flavor is gone")


async def until_told(w, name):
    async def told():
        events = (await w.store.list(EVENT)).items
        return [e["message"] for e in events if (e["reason"], e["involvedObject"]["name"]) == ("FailedToStart", name)]

    return await w.until(told, f"it is told why {name} does not start")


def test_a_job_starts_when_its_flavor_is_there_again():
    """It is admitted and stays suspended; the flavor that comes back has it started at once, on its nodes."""

    async def go():
        async with small_cluster(*checked({"name": "one"}, cpu="2", labels={"pool": "a100"}), seconds=None) as w:
            await w.create(job("a"))
            await w.until_condition("a", "QuotaReserved")
            await lose_the_flavor(w)
            await answer(w, "one", "Ready")
            why = await until_told(w, "a")
            waiting = await w.job("a"), await w.until_condition("a", "Admitted")
            await w.create(KEPT)
            await w.until_runs("a")
            return why, waiting, await w.job("a")

    why, (waiting, _), runs = asyncio.run(go())
    assert why == ['ResourceFlavor "f" not found']
    assert waiting["spec"]["suspend"] is True
    assert runs["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a100"}
    assert runs["spec"]["template"]["spec"]["tolerations"] == KEPT["spec"]["tolerations"]


def test_a_group_of_pods_starts_when_its_flavor_is_there_again():
    """No pod of it is let go before."""

    async def go():
        async with small_cluster(*checked({"name": "one"}, cpu="2"), seconds=None) as w:
            await w.create(member("a"), member("b"))
            await w.until_condition("a", "QuotaReserved")
            await lose_the_flavor(w)
            await answer(w, "one", "Ready")
            await until_told(w, "a")
            waiting = [await found(w, "a"), await found(w, "b")]
            await w.create(KEPT)
            return waiting, await started(w, "a"), await started(w, "b")

    waiting, *run = asyncio.run(go())
    assert [pod["spec"]["schedulingGates"] for pod in waiting] == [[GATE], [GATE]]
    assert [pod["spec"]["nodeSelector"]["pool"] for pod in run] == ["a100", "a100"]


def test_no_nodes_are_requested_for_a_flavor_that_is_not_there():
    """A ProvisioningRequest without its labels would have any nodes made."""
    pod_set = {"name": "main", "count": 1, "template": {"spec": {}}}
    workload = {
        "metadata": {"name": "w", "namespace": "team-a", "uid": "u"},
        "spec": {"podSets": [pod_set]},
        "status": {"admission": {"podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}}]}},
    }
    with pytest.raises(FlavorNotFound, match='"f" not found'):
        made(workload, "nodes", 1, ProvisioningRequestConfigSpec(provisioning_class_name="queued"), {})
