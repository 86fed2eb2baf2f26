"""A user annotates his job as what it is not: it is preempted all the same."""

import asyncio

import pytest

from tests.cluster.small_cluster import JOB, job, queues, small_cluster

PRIORITY = "kueue.x-k8s.io/priority-class"
HIGH = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}


def marked(name, labels=None, annotations=None):
    """A Job of two CPUs that says something of itself."""
    made = job(name, "2")
    metadata = {**made["metadata"], "annotations": annotations or {}}
    return {**made, "metadata": {**metadata, "labels": {**metadata["labels"], **(labels or {})}}}


@pytest.mark.parametrize(
    "labels, annotations",
    [
        ({}, {"kueue.x-k8s.io/is-group-workload": "true"}),
        (
            {"leaderworkerset.sigs.k8s.io/name": "x"},
            {"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset"},
        ),
        ({}, {"kueue.x-k8s.io/workload-slice-name": "x"}),
    ],
    ids=["a group of pods", "the pod of a LeaderWorkerSet", "the pod of an elastic job"],
)
def test_a_job_is_preempted_whatever_it_says_that_it_is(labels, annotations):
    """Two CPUs are the quota: the other job starts when this one has stopped, not beside it."""

    async def go():
        preempt = {"withinClusterQueue": "LowerPriority"}
        async with small_cluster(*queues("2", preemption=preempt), HIGH, seconds=None) as w:
            await w.create(marked("low", labels, annotations))
            await w.until_runs("low")
            await w.create(marked("high", {PRIORITY: "high"}))
            await w.until_runs("high")
            return (await w.job("low"))["spec"]["suspend"], w.kubelet.peak

    assert asyncio.run(go()) == (True, 2.0)


def test_a_job_that_names_another_workload_gives_its_own_back():
    """Whoever suspends his job and names a Workload that is not there holds no quota until it comes."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("first", "2"))
            await w.until_runs("first")
            named = {"annotations": {"kueue.x-k8s.io/prebuilt-workload-name": "none"}}
            await w.store.patch(JOB, "first", "team-a", {"metadata": named, "spec": {"suspend": True}})
            await w.create(job("second", "2"))
            await w.until_runs("second")
            return (await w.job("first"))["spec"]["suspend"], await w.workload("first"), w.kubelet.peak

    assert asyncio.run(go()) == (True, None, 2.0)
