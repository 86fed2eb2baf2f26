"""What a job says of itself reaches its Workload: its user and run time, its class, and what becomes of them later."""

import asyncio

import pytest

from tests.cluster.jobs.test_elastic import elastic, scale, slices
from tests.cluster.jobs.test_prebuilt import naming, prebuilt
from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD, WORKLOAD_CLASS
from webhook.store.objects import merge

CLASS = "kueue.x-k8s.io/priority-class"


def of_class(name, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": name}, **spec}


def labelled(name, class_name):
    return merge(job(name), {"metadata": {"labels": {CLASS: class_name}}})


def test_annotations_for_the_rules_arrive():
    """User and run time are in the Workload, and in what the core knows; an edit of a waiting job arrives as well."""
    annotations = {"sluice.dev/user": "ann", "sluice.dev/run-time-seconds": "60", "other.example/x": "y"}

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(merge(job("a"), {"metadata": {"annotations": annotations}}), job("b"))
            first = await w.until_condition("a", "Admitted")
            await w.until_condition("b", "QuotaReserved", "False")
            before = (await w.workload("b"))["metadata"]["annotations"]
            await w.store.patch(JOB, "b", "team-a", {"metadata": {"annotations": {"sluice.dev/user": "bob"}}})

            async def arrived():
                return (await w.workload("b"))["metadata"]["annotations"].get("sluice.dev/user") == "bob"

            await w.until(arrived, "bob is b's user")
            given = (await w.workload("b"))["metadata"]["annotations"]
            await w.store.patch(JOB, "b", "team-a", {"metadata": {"annotations": {"sluice.dev/user": None}}})

            async def gone():
                return "sluice.dev/user" not in (await w.workload("b"))["metadata"]["annotations"]

            await w.until(gone, "b has no user")
            return first, before, given

    first, before, given = asyncio.run(go())
    found = first["metadata"]["annotations"]
    assert {k: v for k, v in found.items() if k in annotations} == {
        "sluice.dev/user": "ann",
        "sluice.dev/run-time-seconds": "60",
    }
    assert given["sluice.dev/arrival"] == before["sluice.dev/arrival"]


def test_another_value_of_a_class_reaches_running_work():
    """The Workload of a running job has the new number, and stands against preemption with it."""

    async def go():
        options = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        async with small_cluster(
            *queues("1", **options), of_class("low", value=1), of_class("mid", value=5), seconds=None
        ) as w:
            await w.create(labelled("a", "low"))
            await w.until_runs("a")
            await w.store.patch(WORKLOAD_CLASS, "low", None, {"value": 9})

            async def is_nine():
                return (await w.workload("a"))["spec"]["priority"] == 9

            await w.until(is_nine, "a has priority 9")
            await w.create(labelled("b", "mid"))
            await w.until_condition("b", "QuotaReserved", "False")
            return w.kubelet.starts

    assert asyncio.run(go()) == ["a"]


def test_another_class_of_a_running_job_reaches_its_workload():
    """Number and name follow the label; a number that somebody wrote where no class is named stays."""

    async def go():
        async with small_cluster(*queues("2"), of_class("low", value=1), of_class("high", value=9), seconds=None) as w:
            await w.create(labelled("a", "low"), job("b"))
            await w.until_runs("a")
            await w.until_runs("b")
            by_hand = (await w.workload("b"))["metadata"]["name"]
            await w.store.patch(WORKLOAD, by_hand, "team-a", {"spec": {"priority": 3}})
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": {CLASS: "high"}}})

            async def is_high():
                return (await w.workload("a"))["spec"]["priorityClassRef"]["name"] == "high"

            await w.until(is_high, "a is of class high")
            return (await w.workload("a"))["spec"]["priority"], (await w.workload("b"))["spec"]["priority"]

    assert asyncio.run(go()) == (9, 3)


def test_the_first_class_of_a_running_job_gives_its_number_alone():
    """A class cannot be set while quota is reserved: the number counts at once."""

    async def go():
        async with small_cluster(*queues("1"), of_class("high", value=9), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": {CLASS: "high"}}})

            async def is_nine():
                return (await w.workload("a"))["spec"]["priority"] == 9

            await w.until(is_nine, "a has priority 9")
            return (await w.workload("a"))["spec"].get("priorityClassRef")

    assert asyncio.run(go()) is None


@pytest.mark.parametrize(("before", "refs"), [("low", ("high", "high")), (None, (None, "high"))])
def test_both_workloads_of_a_growing_job_follow_its_class(before, refs):
    """That with quota, and that which waits to replace it: its class, and then another value of that.

    Who had no class gets its number alone while quota is reserved.
    """

    async def go():
        classes = of_class("low", value=1), of_class("high", value=9)
        async with small_cluster(*queues("2"), *classes, seconds=None) as w:
            await w.create(merge(elastic("a", 2), {"metadata": {"labels": {CLASS: before}}}))
            await w.until_runs("a")
            await scale(w, 3)

            async def have(*priorities):
                return [s["spec"]["priority"] for s in await slices(w)] == list(priorities)

            old = 1 if before else 0
            await w.until(lambda: have(old, old), "there are two")
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": {CLASS: "high"}}})
            await w.until(lambda: have(9, 9), "both have the new class")
            await w.store.patch(WORKLOAD_CLASS, "high", None, {"value": 5})
            await w.until(lambda: have(5, 5), "both have its new value")
            return tuple((s["spec"].get("priorityClassRef") or {}).get("name") for s in await slices(w))

    assert asyncio.run(go()) == refs


OF_PODS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "usual"},
    "value": 5,
    "globalDefault": True,
}
HIGH = {"group": "kueue.x-k8s.io", "kind": WORKLOAD_CLASS.kind, "name": "high"}


async def until_priority(w, value, name="a"):
    async def has():
        return (await w.workload(name))["spec"]["priority"] == value

    await w.until(has, f"{name} has priority {value}")


def test_a_workload_that_its_job_names_keeps_its_class():
    """It has the number of that, while it waits and while it runs; the job's pods have another class."""
    made = merge(prebuilt(), {"spec": {"priority": 9, "priorityClassRef": HIGH}})

    async def go():
        classes = of_class("high", value=9), OF_PODS
        async with small_cluster(*queues("1"), *classes, seconds=None) as w:
            await w.create(job("busy"))
            await w.until_runs("busy")
            await w.create(made, naming("a"))
            await w.until_condition("a", "QuotaReserved", "False")
            await w.store.patch(WORKLOAD_CLASS, "high", None, {"value": 8})
            await until_priority(w, 8)
            await w.kubelet.end("busy")
            await w.until_runs("a")
            before = await w.workload("a")
            await w.store.patch(WORKLOAD_CLASS, "high", None, {"value": 7})
            await until_priority(w, 7)
            return before, await w.workload("a")

    before, after = asyncio.run(go())
    assert before["spec"]["priority"] == 8
    assert after["spec"]["priorityClassRef"] == HIGH


def test_a_running_job_whose_class_is_taken_away_keeps_it():
    """The class cannot be removed while quota is reserved, so the number stays that of the class."""

    async def go():
        async with small_cluster(*queues("1"), of_class("high", value=9), OF_PODS, seconds=None) as w:
            await w.create(labelled("a", "high"))
            await w.until_runs("a")
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": {CLASS: None}}})
            await w.store.patch(WORKLOAD_CLASS, "high", None, {"value": 8})
            await until_priority(w, 8)
            return (await w.workload("a"))["spec"]["priorityClassRef"]

    assert asyncio.run(go()) == HIGH
