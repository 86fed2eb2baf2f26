"""Templates of jobs that stop without an eviction, children that run too early, Pods that Kueue gated before."""

import asyncio

from tests.cluster.jobs.test_pods import end, pod
from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.cluster.api.kinds import RUNTIME_CLASS, WORKLOAD
from webhook.cluster.jobs.start_stop import PLACED
from webhook.jobs.read_job import MARK
from webhook.kube.conditions import holds
from webhook.kube.gvk import POD, GroupVersionKind
from webhook.store.errors import Conflict, NotFound
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

RAY_JOB = GroupVersionKind("ray.io", "v1", "RayJob")
MPI = GroupVersionKind("kubeflow.org", "v2beta1", "MPIJob")


async def is_restored(w, name):
    found = await w.job(name)
    own = "nodeSelector" not in found["spec"]["template"]["spec"]
    return own and found["spec"]["suspend"] and PLACED not in found["metadata"].get("annotations", {})


def test_an_admission_that_somebody_clears_leaves_no_labels_behind():
    """The job stops, its template is as before, and it starts anew with those of its next flavor."""

    async def go():
        async with small_cluster(*queues("1", labels={"pool": "a100"}), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            running = await w.job("a")
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            found = await w.workload("a")
            rows = [{**row, "status": "False"} for row in found["status"]["conditions"]]
            cleared = {"status": {"admission": None, "conditions": rows}}
            await w.store.patch(WORKLOAD, found["metadata"]["name"], "team-a", {"spec": {"active": False}})
            await w.store.patch(WORKLOAD, found["metadata"]["name"], "team-a", cleared, subresource="status")
            await w.until(lambda: is_restored(w, "a"), "a's template is its own again")
            return running

    running = asyncio.run(go())
    assert running["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a100"}
    assert running["metadata"]["annotations"][PLACED] == "true"


def test_a_workload_that_is_deleted_leaves_no_labels_behind():
    """The job gets another Workload, made of its own template."""

    async def go():
        async with small_cluster(*queues("1", labels={"pool": "a100"}), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            old = await w.workload("a")
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            await w.store.delete(WORKLOAD, old["metadata"]["name"], "team-a")

            async def another():
                found = await w.workload("a")
                return found is not None and found["metadata"]["uid"] != old["metadata"]["uid"]

            await w.until(another, "a has a new Workload")
            return (await w.workload("a"))["spec"]["podSets"][0]["template"]["spec"]

    assert "nodeSelector" not in asyncio.run(go())


def test_an_edit_of_a_waiting_job_is_no_leftover():
    """A node selector that the user gives a waiting job stays."""

    async def go():
        async with small_cluster(*queues("1", labels={"pool": "a100"}), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            own = {"spec": {"template": {"spec": {"nodeSelector": {"zone": "z"}}}}}
            await w.store.patch(JOB, "b", "team-a", own)
            await w.kubelet.end("a")
            await w.until_runs("b")
            return (await w.job("b"))["spec"]["template"]["spec"]["nodeSelector"]

    assert asyncio.run(go()) == {"pool": "a100", "zone": "z"}


def mpi(name):
    template = job("x")["spec"]["template"]
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": "team-a", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {
            "runPolicy": {"suspend": True},
            "mpiReplicaSpecs": {"Worker": {"replicas": 1, "template": template}},
        },
    }


def test_a_child_of_a_job_that_is_not_admitted_stays_suspended():
    """The launcher that an operator starts too early is suspended; once its MPIJob is admitted it may run."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(job("busy"))
            await w.until_condition("busy", "Admitted")
            [parent] = await w.create(mpi("m"))
            await w.until_condition("m", "QuotaReserved", "False")
            uid = parent["metadata"]["uid"]
            owner = {
                "apiVersion": "kubeflow.org/v2beta1",
                "kind": "MPIJob",
                "name": "m",
                "uid": uid,
                "controller": True,
            }
            child = job("m-launcher", suspend=False)
            child["metadata"] = {"name": "m-launcher", "namespace": "team-a", "ownerReferences": [owner]}
            stranger = merge(child, {"metadata": {"name": "stranger", "ownerReferences": None}})
            await w.create(child, stranger)

            async def held():
                return (await w.job("m-launcher"))["spec"]["suspend"]

            await w.until(held, "the launcher is suspended")
            await w.until_runs("busy")
            await w.kubelet.end("busy")
            await w.until_condition("m", "Admitted")
            await w.store.patch(JOB, "m-launcher", "team-a", {"spec": {"suspend": False}})
            await w.until_runs("m-launcher")
            await asyncio.sleep(0.2)
            return await held(), (await w.job("stranger"))["spec"]["suspend"], await w.workload("m-launcher")

    assert asyncio.run(go()) == (False, False, None)


def test_a_pod_that_kueue_gated_gives_its_quota_back_at_its_end(monkeypatch):
    """It is not ours to hold or delete; its Workload ends with it."""
    monkeypatch.setattr("webhook.cluster.jobs.reconciler.AFTER_REFUSAL_SECONDS", 0.1)

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.controller.stop()
            old = merge(pod("old", **{MARK: None}), {"spec": {"schedulingGates": None}})
            [old] = await w.create(old)
            await w.create(held_by(old))
            w.controller.start()
            await w.create(pod("next"))
            await w.until_condition("next", "QuotaReserved", "False")
            await end(w, "old")
            await w.until_condition("old", "Finished")
            await w.until_condition("next", "Admitted")
            return await w.store.get(POD, "old", "team-a"), old

    after, before = asyncio.run(go())
    assert (after["spec"], after["metadata"]["uid"]) == (before["spec"], before["metadata"]["uid"])


def held_by(owner):
    """A Workload with quota, as Kueue left it behind."""
    metadata = owner["metadata"]
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    rows = [
        {"type": t, "status": "True", "reason": t, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for t in ("QuotaReserved", "Admitted")
    ]
    assignment = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "pod-old", "namespace": "team-a", "ownerReferences": [reference]},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": {"spec": owner["spec"]}}]},
        "status": {"conditions": rows, "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}},
    }


def test_overhead_of_a_runtime_class_counts_in_the_cluster():
    """Of a Workload without a job as well; another overhead is read at once."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vm"}, "handler": "vm"}
    template = {"spec": {**job("x")["spec"]["template"]["spec"], "runtimeClassName": "vm"}}
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "by-hand", "namespace": "team-a"},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }

    async def go():
        async with small_cluster(
            *queues("2"), {**runtime, "overhead": {"podFixed": {"cpu": "1500m"}}}, seconds=None
        ) as w:
            await w.create(made)

            async def says():
                found = await w.store.get(WORKLOAD, "by-hand", "team-a")
                return {row["type"]: row for row in (found.get("status") or {}).get("conditions") or ()}

            async def waits():
                return "requests 2500m cpu" in (await says()).get("sluice.dev/Waiting", {}).get("message", "")

            await w.until(waits, "it asks for its overhead too")
            await w.store.patch(RUNTIME_CLASS, "vm", None, {"overhead": {"podFixed": {"cpu": "1"}}})

            async def has_quota():
                return (await says())["QuotaReserved"]["status"] == "True"

            await w.until(has_quota, "it fits with less overhead")
            return (await w.store.get(WORKLOAD, "by-hand", "team-a"))["status"]["admission"]["podSetAssignments"]

    assert [pods["resourceUsage"] for pods in asyncio.run(go())] == [{"cpu": "2"}]


class Upgraded(MemoryStore):
    """An API server that serves RayJobs in version v1 alone; one write to them meets another's."""

    conflict = False

    async def get(self, gvk, name, namespace=None):
        if gvk.version == "v1alpha1":
            raise NotFound("the server could not find the requested resource")
        return await super().get(gvk, name, namespace)

    async def update(self, obj, **options):
        if obj["kind"] == "RayJob" and self.conflict:
            self.conflict = False
            raise Conflict("it has changed")
        return await super().update(obj, **options)


def test_a_job_whose_workload_names_an_older_version_of_its_kind_is_still_there():
    """Its operator was upgraded since; it is read in the version that is served, stopped, and not taken for deleted."""
    template = job("a")["spec"]["template"]
    spec = {"suspend": True, "submissionMode": "HTTPMode", "rayClusterSpec": {"headGroupSpec": {"template": template}}}
    made = {**job("a"), "apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec}

    async def go():
        store = Upgraded()
        async with small_cluster(*queues(), made, store=store) as w:
            name = (await w.until_condition("a", "Admitted"))["metadata"]["name"]

            async def runs(value=True):
                return (await store.get(RAY_JOB, "a", "team-a"))["spec"]["suspend"] is not value

            await w.until(runs, "a is started")
            (owner,) = (await w.workload("a"))["metadata"]["ownerReferences"]
            older = [{**owner, "apiVersion": "ray.io/v1alpha1"}]
            await store.patch(WORKLOAD, name, "team-a", {"metadata": {"ownerReferences": older}})
            store.conflict = True
            await store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            await w.until(lambda: runs(False), "a is stopped")
            return await w.until_condition("a", "QuotaReserved", "False")

    assert not holds(asyncio.run(go()), "Finished")
