"""A change of a namespace, a class, a runtime or a queue has only those jobs looked at that it concerns, in slices."""

import asyncio
from typing import Any

import pytest

from tests.cluster.small_cluster import job, make_controller, queues, small_cluster
from tests.cluster.turns import Turns
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import (
    CLUSTER_QUEUE,
    FLAVOR,
    LIMIT_RANGE,
    PRIORITY_CLASS,
    RUNTIMES,
    WORKLOAD,
    WORKLOAD_CLASS,
)
from webhook.cluster.jobs.affected import AffectedJobs
from webhook.cluster.jobs.workloads_of_jobs import JobWorkloads
from webhook.kube.gvk import NAMESPACE, gvk_of
from webhook.store.memory import MemoryStore


def thing(gvk, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    """An object of a kind, by name."""
    where = {"namespace": namespace} if namespace else {}
    labels = fields.pop("labels", {})
    metadata = {"name": name, "uid": f"{gvk.kind}-{namespace}-{name}", "resourceVersion": "1", "labels": labels}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata | where, **fields}


def running(name: str, namespace: str = "team-a", *, ref: Any = None, pods: str = "", queue: str = "", **labels: str):
    """A Job and its Workload, which has the class `ref`, `pods` in its template, and quota of a queue."""
    owner = job(name, namespace=namespace)
    owner["metadata"] |= {"uid": name, "resourceVersion": "1"}
    owner["metadata"]["labels"] |= labels
    spec: dict[str, Any] = {
        "podSets": [{"name": "main", "template": {"spec": {"priorityClassName": pods} if pods else {}}}]
    }
    if ref:
        spec["priorityClassRef"] = {"kind": ref[0], "name": ref[1]}
    workload = thing(WORKLOAD, f"job-{name}", namespace, spec=spec)
    workload["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    ]
    if queue:
        assignments = [{"name": "main", "flavors": {"cpu": f"of-{queue}"}}]
        workload["status"] = {"admission": {"clusterQueue": queue, "podSetAssignments": assignments}}
    return owner, workload


OF_QUEUE = "kueue.x-k8s.io/priority-class"
TRAIN = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
MPI = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob"}
THERE = [
    *running("plain"),
    *running("queued", queue="cq"),
    *running("other", "team-b", queue="other"),
    *running("high", ref=("WorkloadPriorityClass", "high"), **{OF_QUEUE: "high"}),
    *running("pods", "team-b", ref=("PriorityClass", "pods")),
    *running("lacking", pods="late"),
    {**TRAIN, "metadata": {"name": "train", "namespace": "team-b", "uid": "train", "resourceVersion": "1"},
     "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "torch"}}},
    {**MPI, "metadata": {"name": "mpi", "namespace": "team-b", "uid": "mpi", "resourceVersion": "1"},
     "spec": {"runPolicy": {"schedulingPolicy": {"priorityClass": "late"}}}},
]  # fmt: skip
IN_A, IN_B = {"plain", "queued", "high", "lacking"}, {"other", "pods", "train", "mpi"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, thing(NAMESPACE, "team-c"), set()),
        (None, thing(NAMESPACE, "team-a"), IN_A),
        (thing(NAMESPACE, "team-a"), thing(NAMESPACE, "team-a", labels={"queues": "yes"}), IN_A),
        (thing(NAMESPACE, "team-a"), thing(NAMESPACE, "team-a", status={"phase": "Active"}), set()),
        (None, thing(LIMIT_RANGE, "defaults", "team-b"), IN_B),
        (None, thing(LIMIT_RANGE, "defaults", "team-c"), set()),
        (None, thing(WORKLOAD_CLASS, "high", value=3), {"high"}),
        (None, thing(WORKLOAD_CLASS, "low", value=3), set()),
        (None, thing(PRIORITY_CLASS, "pods", value=3), {"pods"}),
        (None, thing(PRIORITY_CLASS, "late", value=3), {"lacking", "mpi"}),
        (None, thing(PRIORITY_CLASS, "new", value=3), set()),
        (None, thing(PRIORITY_CLASS, "new", value=3, globalDefault=True), {"plain", "queued", "other"}),
        (thing(PRIORITY_CLASS, "new", value=3, globalDefault=True), None, {"plain", "queued", "other"}),
        (None, thing(RUNTIMES[0], "torch"), set()),
        (None, thing(RUNTIMES[1], "torch", "team-a"), set()),
        (None, thing(RUNTIMES[1], "torch", "team-b"), {"train"}),
        (None, thing(CLUSTER_QUEUE, "cq", spec={}), set()),
        (None, thing(CLUSTER_QUEUE, "cq", spec={"admissionChecksStrategy": {"admissionChecks": []}}), {"queued"}),
        (None, thing(FLAVOR, "of-cq", spec={}), {"queued"}),
        (thing(FLAVOR, "of-cq", spec={}), thing(FLAVOR, "of-cq", spec={"nodeLabels": {"a": "b"}}), set()),
    ],
)  # fmt: skip
def test_a_change_concerns(old, new, expected):
    """Of jobs in two namespaces, those that go by what changed are added once more, and no others."""

    async def go():
        added: list[str] = []
        _, view, _ = make_controller(MemoryStore())
        for obj in THERE:
            view.informer(gvk_of(obj)).keep(obj)
        affected = AffectedJobs(view, JobWorkloads(view, QueueSettings()), lambda key: added.append(key.name))
        task = asyncio.create_task(affected.run())
        await Turns.passed(100)
        everything = set(added)
        added.clear()
        affected.heard(gvk_of(new or old), old, new)
        await Turns.passed(100)
        task.cancel()
        return everything, set(added)

    everything, added = asyncio.run(go())
    assert everything == IN_A | IN_B
    assert added == expected


def test_all_jobs_are_added_in_slices(monkeypatch):
    """Whoever takes over adds thousands of jobs, and the loop has its turn after as many as fit a slice."""

    async def go():
        _, view, _ = make_controller(MemoryStore())
        for number in range(2000):
            for obj in running(f"job-{number}"):
                view.informer(gvk_of(obj)).keep(obj)
        turns = Turns(monkeypatch, 0.0001)
        affected = AffectedJobs(view, JobWorkloads(view, QueueSettings()), turns.count)
        async with turns:
            task = asyncio.create_task(affected.run())
            await turns.until(4000)
            task.cancel()
        return turns

    assert asyncio.run(go()).most <= 25


def test_a_new_namespace_has_no_job_looked_at(monkeypatch):
    """A hundred jobs wait; a namespace comes, and none of them is looked at for it."""

    async def go():
        looks: list[str] = []
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(*(job(f"job-{number}") for number in range(100)))

            async def all_wait():
                found = (await w.store.list(WORKLOAD)).items
                return len(found) == 100 and all((f.get("status") or {}).get("conditions") for f in found)

            await w.until(all_wait, "every job has a Workload with a reason")
            reconciler = w.controller._reconciler
            look = reconciler._look_or_read_anew

            async def counted(key):
                looks.append(key.name)
                return await look(key)

            monkeypatch.setattr(type(reconciler), "_look_or_read_anew", lambda self, key: counted(key))
            await Turns.passed(200)
            looks.clear()
            await w.create(thing(NAMESPACE, "team-c"))
            await w.until_condition("job-0", "Admitted")
            await Turns.passed(200)
            return looks

    assert asyncio.run(go()) == []
