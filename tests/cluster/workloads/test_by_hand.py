"""Workloads that no job owns: clients make and scale them, and Kueue's scheduler alone sees to them."""

import asyncio

from tests.cluster.jobs.test_prebuilt import prebuilt, told, workloads
from tests.cluster.small_cluster import queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.workloads.conditions import WAITING
from webhook.jobs.elastic import ELASTIC, REPLACES
from webhook.kube.conditions import find, holds
from webhook.store.objects import merge

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


def test_one_that_got_its_quota_elsewhere_says_no_more_what_it_waits_for():
    """Whoever reads its conditions must not find both; the core takes the word away with the quota that it gives."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(by_hand("big", 2))

            async def says():
                return find((await workloads(w))["big"], WAITING) is not None

            await w.until(says, "it says what it waits for")
            rows = [
                {"type": name, "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": NOON}
                for name in ("QuotaReserved", "Admitted")
            ]
            assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "2"}, "count": 2}
            status = {"admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}}
            status["conditions"] = [find((await workloads(w))["big"], WAITING), *rows]
            await w.store.patch(WORKLOAD, "big", "team-a", {"status": status}, subresource="status")

            async def settled():
                return not await says()

            await w.until(settled, "it says so no more")
            return (await workloads(w))["big"]

    assert holds(asyncio.run(go()), "Admitted")
