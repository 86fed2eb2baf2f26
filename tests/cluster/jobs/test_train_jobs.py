"""TrainJobs in a cluster: what they need is in a runtime, and their controller takes a patch only while they rest."""

import asyncio

from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.jobs.train_job import CLUSTER_RUNTIME, RUNTIME
from webhook.kube.gvk import GroupVersionKind
from webhook.store.memory import MemoryStore

TRAIN_JOB = GroupVersionKind("trainer.kubeflow.org", "v1alpha1", "TrainJob")


def train_job(name, kind=CLUSTER_RUNTIME):
    reference = {"name": "torch", "kind": kind.kind, "apiGroup": kind.group}
    spec = {"suspend": True, "runtimeRef": reference, "trainer": {"numNodes": 2}}
    return {**job(name), "apiVersion": str(TRAIN_JOB).partition(",")[0], "kind": TRAIN_JOB.kind, "spec": spec}


def runtime(kind=CLUSTER_RUNTIME, cpu="1"):
    """A runtime of one Job of nodes that train, and one that prepares."""
    role = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    inner = {"template": job("x", cpu)["spec"]["template"]}
    jobs = [{"name": "node", "template": {**role, "spec": inner}}, {"name": "data", "template": {"spec": inner}}]
    metadata = {"name": "torch", **({"namespace": "team-a"} if kind == RUNTIME else {})}
    spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    return {"apiVersion": f"{kind.group}/{kind.version}", "kind": kind.kind, "metadata": metadata, "spec": spec}


class Trainer(MemoryStore):
    """A store that, as Trainer's webhook, takes another patch of a TrainJob only with one that is suspended."""

    async def update(self, obj, **how):
        if obj["kind"] == TRAIN_JOB.kind:
            old = await self.get(TRAIN_JOB, obj["metadata"]["name"], "team-a")
            changed = old["spec"].get("runtimePatches") != obj["spec"].get("runtimePatches")
            assert obj["spec"]["suspend"] or not changed, "another patch of a TrainJob that is not suspended"
        return await super().update(obj, **how)


def test_a_train_job_waits_for_its_runtime_and_runs_on_its_flavors():
    """It has no Workload before; with it the pods of all its Jobs count, and what has ended is free again."""

    async def go():
        async with small_cluster(*queues("3", labels={"zone": "a"}), store=Trainer()) as w:
            await w.create(train_job("t"), job("other"))
            await w.until_condition("other", "Finished")
            before = await w.workload("t")
            await w.create(runtime())
            workload = await w.until_condition("t", "Admitted")

            async def runs():
                return not (await w.store.get(TRAIN_JOB, "t", "team-a"))["spec"]["suspend"]

            await w.until(runs, "it runs")
            ended = {"status": {"jobsStatus": [{"name": "data", "succeeded": 1}, {"name": "node", "active": 1}]}}
            await w.store.patch(TRAIN_JOB, "t", "team-a", ended, subresource="status")

            async def reclaimed():
                return (await w.workload("t"))["status"].get("reclaimablePods")

            await w.until(reclaimed, "what has ended is free")
            return before, workload, await w.workload("t"), await w.store.get(TRAIN_JOB, "t", "team-a")

    before, workload, later, started = asyncio.run(go())
    assert before is None
    assert [(pods["name"], pods["count"]) for pods in workload["spec"]["podSets"]] == [("node", 2), ("data", 1)]
    (patch,) = started["spec"]["runtimePatches"]
    placed = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    selectors = [row["template"]["spec"]["template"]["spec"]["nodeSelector"] for row in placed]
    assert selectors == [{"zone": "a"}, {"zone": "a"}]
    assert later["status"]["reclaimablePods"] == [{"name": "data", "count": 1}]


def test_a_train_job_that_stops_has_no_patch_of_ours():
    """Its Workload was set inactive; its runtime is one of its namespace."""

    async def go():
        async with small_cluster(*queues("3", labels={"zone": "a"}), store=Trainer()) as w:
            await w.create(runtime(RUNTIME), train_job("t", RUNTIME))
            workload = await w.until_condition("t", "Admitted")
            key = workload["metadata"]["name"], "team-a"

            async def runs():
                return not (await w.store.get(TRAIN_JOB, "t", "team-a"))["spec"]["suspend"]

            await w.until(runs, "it runs")
            await w.store.patch(GroupVersionKind("kueue.x-k8s.io", "v1beta2", "Workload"), *key, INACTIVE)
            await w.until_condition("t", "QuotaReserved", "False")
            return await w.store.get(TRAIN_JOB, "t", "team-a")

    stopped = asyncio.run(go())
    assert stopped["spec"]["suspend"] is True
    assert "runtimePatches" not in stopped["spec"]


INACTIVE = {"spec": {"active": False}}
