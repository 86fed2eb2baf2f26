"""Two-phase admission through the real API server and Job controller: asked, answered, started; then put back."""

import asyncio
from time import monotonic

import pytest

from tests.cluster.live.test_preemption import kueue  # noqa: F401 - a fixture
from tests.cluster.small_cluster import JOB, job, make_controller, queues
from tests.patience import PATIENCE, until
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.kinds import ADMISSION_CHECK, WORKLOAD
from webhook.cluster.api.live_store import LiveStore
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at

pytestmark = pytest.mark.cluster
NOW = "2026-01-01T00:00:00Z"
UPDATE = {"name": "main", "annotations": {"capacity": "c-1"}, "nodeSelector": {"kubernetes.io/os": "linux"}}


def objects(namespace):
    """The queues of a namespace, with a check whose controller is the test."""
    check = f"check-{namespace}"
    flavor, queue, local = queues("1", admissionChecksStrategy={"admissionChecks": [{"name": check}]})[1:]
    flavor["metadata"]["name"], queue["metadata"]["name"] = f"f-{namespace}", f"cq-{namespace}"
    local["metadata"]["namespace"], local["spec"]["clusterQueue"] = namespace, queue["metadata"]["name"]
    queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = flavor["metadata"]["name"]
    asked = {"apiVersion": flavor["apiVersion"], "kind": "AdmissionCheck", "metadata": {"name": check}}
    return flavor, queue, local, {**asked, "spec": {"controllerName": "example.com/tests"}}


class Cluster:
    """Questions and answers to the API server."""

    def __init__(self, store, namespace):
        self.store, self.namespace = store, namespace

    async def workload(self):
        return next(iter((await self.store.list(WORKLOAD, self.namespace)).items), None)

    async def has(self, type_, status="True"):
        found = await self.workload()
        return found if found and (find(found, type_) or {}).get("status") == status else None

    async def is_pending(self):
        found = await self.has("QuotaReserved")
        return found if found and [c["state"] for c in found["status"]["admissionChecks"]] == ["Pending"] else None

    async def evictions(self):
        """What is counted of them: the condition is over with the next reservation, which a slow look may miss."""
        return at(await self.workload(), ("status", "schedulingStats", "evictions"))

    async def answer(self, state, **fields):
        found = await self.workload()
        now = find(found, "QuotaReserved")["lastTransitionTime"]
        rows = [
            {**row, "state": state, "message": "by hand", "lastTransitionTime": now, **fields}
            for row in found["status"]["admissionChecks"]
        ]
        name, patch = found["metadata"]["name"], {"status": {"admissionChecks": rows}}
        await self.store.patch(WORKLOAD, name, self.namespace, patch, subresource="status")

    async def job(self):
        return await self.store.get(JOB, "a", self.namespace)

    async def is_active(self):
        found = await self.job()
        return found if at(found, ("status", "active")) else None


def test_a_job_goes_through_both_phases(control_plane, namespace, kueue):  # noqa: F811
    """Pending, Retry, Pending again, Ready: it runs with the check's update; Rejected in another round ends it."""

    async def go():
        client = await Client.connect(control_plane.kubeconfig, None, Pace(500, 1000, PATIENCE), monotonic)
        store = LiveStore(client)
        opted = lambda labels: labels.get("kubernetes.io/metadata.name") == namespace  # noqa: E731
        controller, view, _ = make_controller(store, opted=opted)
        cluster = Cluster(store, namespace)
        for obj in objects(namespace):
            await store.create(obj)
        active = [{"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": NOW}]
        status = {"status": {"conditions": active}}
        await store.patch(ADMISSION_CHECK, f"check-{namespace}", None, status, subresource="status")
        view.start()
        controller.start()
        try:
            made = job("a", namespace=namespace)
            made["spec"]["template"]["metadata"] = {"annotations": {"sluice.dev/run-seconds": "3600"}}
            await store.create(made)
            asked = await until(cluster.is_pending, "the check is asked")
            held = await cluster.job()
            await cluster.answer("Retry")
            evicted = await until(cluster.evictions, "the workload is evicted")
            await until(cluster.is_pending, "the check is asked again")
            await cluster.answer("Ready", podSetUpdates=[UPDATE])
            running = await until(cluster.is_active, "the job runs")
            admitted = await cluster.workload()
            await cluster.answer("Rejected")
            ended = await until(lambda: cluster.has("Requeued", "False"), "the workload is deactivated")
            return asked, held, evicted, admitted, running, ended, await cluster.job()
        finally:
            await controller.stop()
            await view.stop()
            await client.close()

    asked, held, evicted, admitted, running, ended, stopped = asyncio.run(go())
    assert not holds(asked, "Admitted")
    assert held["spec"]["suspend"] is True
    assert [(row["reason"], row["count"]) for row in evicted] == [("AdmissionCheck", 1)]
    assert holds(admitted, "Admitted")
    template = running["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert template["metadata"]["annotations"]["capacity"] == "c-1"
    assert ended["spec"]["active"] is False
    assert find(ended, "Evicted")["reason"] == "DeactivatedDueToAdmissionCheck"
    assert stopped["spec"]["suspend"] is True
    assert "nodeSelector" not in stopped["spec"]["template"]["spec"]
    assert "capacity" not in stopped["spec"]["template"]["metadata"]["annotations"]
