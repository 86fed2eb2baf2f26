"""Preemption through the real API server and Job controller: stopped, put back as it was, started again."""

import asyncio
from time import monotonic

import pytest

from tests.cluster.small_cluster import JOB, job, make_controller, queues
from tests.patience import PATIENCE, until
from webhook.api.crds.definitions import definitions
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.live_store import LiveStore
from webhook.kube.fields import at
from webhook.kube.gvk import GroupVersionKind

POD = GroupVersionKind("", "v1", "Pod")

pytestmark = pytest.mark.cluster
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def kueue(kube, control_plane):
    """The CRDs of the queue's objects, where nobody has installed them yet."""
    there = {found["metadata"]["name"] for found in kube.items(CRDS)}
    for crd in definitions():
        if crd["metadata"]["name"] not in there:
            kube.create(crd)
    control_plane.wait(
        "the CRDs are served",
        lambda: all(_served(kube, found) for found in kube.items(CRDS) if "kueue" in found["metadata"]["name"]),
    )


def _served(kube, crd):
    """Whether it is established, and in discovery too: that comes later, and the live store finds kinds by it."""
    rows, spec = (crd.get("status") or {}).get("conditions") or [], crd["spec"]
    groups = [f"/apis/{spec['group']}/{version['name']}" for version in spec["versions"] if version["served"]]
    return any(row["type"] == "Established" and row["status"] == "True" for row in rows) and all(
        spec["names"]["plural"] in (row["name"] for row in kube.request("GET", group).body.get("resources", []))
        for group in groups
    )


def test_a_preempted_job_gives_way_and_runs_later(kube, control_plane, namespace, kueue):
    """The low Job starts, gives way to the high one with its template as it was, and starts again after it."""
    given = queues("1", labels={"kubernetes.io/hostname": "cpu-1"}, preemption={"withinClusterQueue": "LowerPriority"})
    names = {"f": f"f-{namespace}", "cq": f"cq-{namespace}"}
    flavor, queue, local = given[1:]
    flavor["metadata"]["name"] = names["f"]
    queue["metadata"]["name"] = local["spec"]["clusterQueue"] = names["cq"]
    queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = names["f"]
    local["metadata"]["namespace"] = namespace
    klass = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 100}
    klass["metadata"] = {"name": f"high-{namespace}"}

    def wanted(name, seconds):
        made = job(name, namespace=namespace)
        made["spec"]["template"]["metadata"] = {"annotations": {"sluice.dev/run-seconds": str(seconds)}}
        return made

    async def go():
        client = await Client.connect(control_plane.kubeconfig, None, Pace(500, 1000, PATIENCE), monotonic)
        store = LiveStore(client)
        opted = lambda labels: labels.get("kubernetes.io/metadata.name") == namespace  # noqa: E731
        controller, view, _ = make_controller(store, opted=opted)
        for obj in (flavor, queue, local, klass):
            await store.create(obj)
        view.start()
        controller.start()
        try:
            await store.create(wanted("low", 3600))  # it cannot end before it has to give way
            await until(lambda: pods_of(store, "low"), "low runs")
            before = (await store.get(JOB, "low", namespace))["spec"]["template"]["spec"].get("nodeSelector")
            high = wanted("high", 3600)
            high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = klass["metadata"]["name"]
            await store.create(high)
            await until(lambda: pods_run(store, "high"), "high runs")
            stopped = await store.get(JOB, "low", namespace)
            await end(store, "high")
            await until(lambda: is_complete(store, "high"), "high is complete")
            await until(lambda: pods_of(store, "low"), "low runs again")
            return before, stopped
        finally:
            await controller.stop()
            await view.stop()
            await client.close()

    async def pods_of(store, name):
        return at(await store.get(JOB, name, namespace), ("status", "active"))

    async def pods_run(store, name):
        """Whether the kubelet has begun with the Pod: a phase written before that is lost, it writes its own."""
        return at(await store.get(JOB, name, namespace), ("status", "ready"))

    async def is_complete(store, name):
        rows = at(await store.get(JOB, name, namespace), ("status", "conditions")) or []
        return any(row["type"] == "Complete" and row["status"] == "True" for row in rows)

    async def end(store, name):
        for pod in (await store.list(POD, namespace)).items:
            if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == name:
                done = {"status": {"phase": "Succeeded"}}
                await store.patch(POD, pod["metadata"]["name"], namespace, done, subresource="status")

    before, stopped = asyncio.run(go())
    assert before == {"kubernetes.io/hostname": "cpu-1"}
    assert stopped["spec"]["suspend"] is True
    assert "nodeSelector" not in stopped["spec"]["template"]["spec"]
    assert not at(stopped, ("status", "active"))
