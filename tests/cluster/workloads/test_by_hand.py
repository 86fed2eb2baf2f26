"""Workloads that no job owns: clients make and scale them, and Kueue's scheduler alone sees to them."""

import asyncio

import pytest

from tests.cluster.jobs.test_pod_groups import member
from tests.cluster.jobs.test_pods import pod
from tests.cluster.jobs.test_prebuilt import prebuilt, told, workloads
from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.api.job_to_workload import JOB_UID_LABEL
from webhook.cluster.api.finalizers import FINALIZER
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.workloads.conditions import WAITING
from webhook.jobs.elastic import ELASTIC, REPLACES
from webhook.kube.conditions import find, holds
from webhook.store.objects import merge

SINCE = {"lastTransitionTime": "2026-01-01T12:00:00Z"}
NOON = "2026-01-01T12:00:00Z"


def by_hand(name, count=1, priority=0, **annotations):
    """A Workload of one cpu a pod."""
    return merge(prebuilt(name, "1", count, annotations=annotations), {"spec": {"priority": priority}})


async def until(w, name, condition):
    async def there():
        return holds((await workloads(w))[name], condition)

    await w.until(there, f"{name} is {condition}")


def test_one_that_is_replaced_ends_when_the_other_is_admitted():
    """So what both ask for counts once."""

    async def go():
        async with small_cluster(*queues("3")) as w:
            await w.create(by_hand("small", 2, **{ELASTIC: "true"}))
            await until(w, "small", "Admitted")
            await w.create(by_hand("big", 3, **{ELASTIC: "true", REPLACES: "team-a/small"}))
            await until(w, "small", "Finished")

            async def used():
                status = await w.local_status()
                return status["flavorsUsage"][0]["resources"][0]["total"] == "3"

            await w.until(used, "the usage is that of the new one")
            return await workloads(w), await told(w, "small", "WorkloadSliceReplaced")

    found, said = asyncio.run(go())
    assert holds(found["big"], "Admitted")
    assert find(found["small"], "Finished")["reason"] == "WorkloadSliceReplaced"
    uid = found["big"]["metadata"]["uid"]
    words = f"Replaced to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to workload slice aggregation"
    assert find(found["small"], "Finished")["message"] == said == words


def test_the_preemptor_is_told_whose_place_it_takes():
    """By an Event of its own, beside that of its victim."""

    async def go():
        async with small_cluster(*queues("1", preemption={"withinClusterQueue": "LowerPriority"})) as w:
            await w.create(by_hand("low"))
            await until(w, "low", "Admitted")
            await w.create(by_hand("high", priority=9))
            return await told(w, "high", "PreemptedWorkload"), await w.store.get(WORKLOAD, "low", "team-a")

    said, low = asyncio.run(go())
    assert said == f"Preempted workload team-a/low (UID: {low['metadata']['uid']}) in ClusterQueue cq"


def test_a_waiting_one_says_what_it_asks_for():
    """All pods of a set together, until its admission says it."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            await w.create(by_hand("big", 3))

            async def says():
                return "resourceRequests" in ((await workloads(w))["big"].get("status") or {})

            await w.until(says, "it says what it asks for")
            waiting = (await workloads(w))["big"]
            await w.store.patch(WORKLOAD, "big", "team-a", {"spec": {"podSets": by_hand("big", 2)["spec"]["podSets"]}})
            await until(w, "big", "Admitted")
            return waiting, (await workloads(w))["big"]

    waiting, admitted = asyncio.run(go())
    assert waiting["status"]["resourceRequests"] == [{"name": "main", "resources": {"cpu": "3"}}]
    assert not admitted["status"].get("resourceRequests")


async def says_why(w, name):
    return find((await workloads(w))[name], WAITING) is not None


async def admit(w, name):
    """Give a Workload of one pod set its quota, and leave what else is said of it."""
    rows = [
        {"type": name, "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": NOON}
        for name in ("QuotaReserved", "Admitted")
    ]
    workload = (await workloads(w))[name]
    (pods,) = workload["spec"]["podSets"]
    amount = {"flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2"}, "count": pods["count"]}
    status = {"admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": pods["name"], **amount}]}}
    status["conditions"] = [find(workload, WAITING), *rows]
    await w.store.patch(WORKLOAD, name, "team-a", {"status": status}, subresource="status")


def test_one_that_got_its_quota_elsewhere_says_no_more_what_it_waits_for():
    """Whoever reads its conditions must not find both; the core takes the word away with the quota that it gives."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(by_hand("big", 2))
            await w.until(lambda: says_why(w, "big"), "it says what it waits for")
            await admit(w, "big")

            async def settled():
                return not await says_why(w, "big")

            await w.until(settled, "it says so no more")
            return (await workloads(w))["big"]

    assert holds(asyncio.run(go()), "Admitted")


@pytest.mark.parametrize(
    ("made", "started"),
    [
        ([job("big", "2")], lambda obj: obj["kind"] == "Job" and not obj["spec"]["suspend"]),
        ([pod("big", "2")], lambda obj: obj["kind"] == "Pod" and not obj["spec"].get("schedulingGates")),
        ([member("a"), member("b")], lambda obj: obj["kind"] == "Pod" and not obj["spec"].get("schedulingGates")),
    ],
    ids=["Job", "Pod", "group of Pods"],
)
def test_nothing_starts_that_says_still_what_it_waits_for(made, started, monkeypatch):
    """With the write that lets a pod go, its Workload says so no more."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            for obj in made:
                await w.create(obj)

            async def says():
                return [name for name in await workloads(w) if await says_why(w, name)]

            await w.until(says, "it says what it waits for")
            (name,) = await says()
            seen, update = [], w.store.update

            async def observed(obj, **options):
                if started(obj):
                    seen.append(await says_why(w, name))
                return await update(obj, **options)

            monkeypatch.setattr(w.store, "update", observed)
            await admit(w, name)

            async def all_started():
                return len(seen) >= len(made)

            await w.until(all_started, "it starts")
            return seen

    assert not any(asyncio.run(go()))


@pytest.mark.parametrize(
    ("state", "labels"), [("", {}), ("Admitted", {}), ("Finished", {}), ("Finished", {JOB_UID_LABEL: "gone"})]
)
def test_one_that_is_deleted_goes_and_gives_its_quota_back(state, labels):
    """Nobody but its maker owned it: the finalizer that Kueue's clients put on it is taken off."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(merge(by_hand("x"), {"metadata": {"finalizers": [FINALIZER]}}))
            if state:
                await until(w, "x", "Admitted")
            if state == "Finished":
                row = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "", **SINCE}
                await w.store.patch(WORKLOAD, "x", "team-a", {"status": {"conditions": [row]}}, subresource="status")
            await w.store.patch(WORKLOAD, "x", "team-a", {"metadata": {"labels": labels}})
            await w.store.delete(WORKLOAD, "x", "team-a")
            await w.create(job("b"))
            await w.until_runs("b")

            async def gone():
                return "x" not in await workloads(w)

            await w.until(gone, "the Workload is gone")

    asyncio.run(go())
