"""Groups of plain pods: one Workload for all, let go together, replaced one by one, ended by deletion."""

import asyncio

import pytest

from tests.cluster.jobs.test_pods import GATE, end, found, gone, pod, started
from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.api.job_to_workload import API_VERSION
from webhook.api.snapshot.slices import counts
from webhook.cluster.api.kinds import WORKLOAD
from webhook.jobs.pod_groups import FAST, GROUP, RETRIABLE, TOTAL, as_one_job
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import POD
from webhook.store.objects import merge


def member(name, total=2, cpu="1", group="g", **annotations):
    """A gated pod of a group."""
    return merge(pod(name, cpu, **{GROUP: group}), {"metadata": {"annotations": {TOTAL: str(total), **annotations}}})


async def workload(w, name="g"):
    found = {each["metadata"]["name"]: each for each in (await w.store.list(WORKLOAD)).items}
    return found.get(name)


async def until_workload(w, condition, what):
    async def so():
        there = await workload(w)
        return there is not None and condition(there)

    await w.until(so, f"the Workload of the group {what}")
    return await workload(w)


def test_a_group_is_admitted_as_one():
    """Nothing is made until it is complete; then all pods go, with their flavor, and it ends with the last."""

    async def go():
        async with small_cluster(*queues("3", labels={"pool": "x"})) as w:
            await w.create(member("a"))
            await w.create(job("other", "1"))
            await w.until_condition("other", "Finished")
            before = await workload(w)
            await w.create(member("b", cpu="2"))
            first, second = await started(w, "a"), await started(w, "b")
            await end(w, "a")
            part = await until_workload(w, lambda o: o["status"].get("reclaimablePods"), "gives quota back")
            await end(w, "b")
            return before, first, second, part, await until_workload(w, lambda o: holds(o, "Finished"), "ended")

    before, first, second, part, ended = asyncio.run(go())
    assert before is None
    assert first["spec"]["nodeSelector"]["pool"] == second["spec"]["nodeSelector"]["pool"] == "x"
    assert sorted(counts(part).values()) == [1, 1]
    assert [row["count"] for row in part["status"]["reclaimablePods"]] == [1]
    assert {owner["name"] for owner in ended["metadata"]["ownerReferences"]} == {"a", "b"}
    assert find(ended, "Finished")["message"] == "Pods succeeded: 2/2."


def test_a_group_that_does_not_fit_waits_whole():
    """Not one of its pods goes, though one would fit."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(member("a"), member("b"))
            await until_workload(w, lambda o: (find(o, "QuotaReserved") or {}).get("status") == "False", "waits")
            return [(await found(w, name))["spec"]["schedulingGates"] for name in ("a", "b")]

    assert asyncio.run(go()) == [[GATE], [GATE]]


def test_a_pod_that_failed_is_replaced():
    """The next one of its role takes its place in the same Workload; one more than that is deleted."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            await w.create(member("a"), member("b"))
            await started(w, "a")
            await started(w, "b")
            uid = (await workload(w))["metadata"]["uid"]
            await end(w, "b", "Failed")
            await w.create(member("c"))
            await started(w, "c")
            await w.create(member("d"))
            await gone(w, "d")
            return uid, await workload(w)

    uid, after = asyncio.run(go())
    assert after["metadata"]["uid"] == uid
    assert not holds(after, "Finished")


def test_a_group_with_a_pod_that_is_not_replaced_ends_with_it():
    """Its annotation says so: the group has failed when nothing of it runs any more."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            await w.create(member("a"), member("b", **{RETRIABLE: "false"}))
            await started(w, "a")
            await started(w, "b")
            await end(w, "b", "Failed")
            await end(w, "a", "Succeeded")
            return await until_workload(w, lambda o: holds(o, "Finished"), "ended")

    ended = asyncio.run(go())
    assert (find(ended, "Finished")["reason"], find(ended, "Finished")["message"]) == ("Failed", "Pods succeeded: 1/2.")


def test_a_group_that_has_ended_is_not_queued_again():
    """Its Workload is deleted when its retention is over, its pods are still there: no other Workload is made."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            await w.create(member("a"), member("b"))
            await started(w, "a")
            await started(w, "b")
            await end(w, "a")
            await end(w, "b")
            await until_workload(w, lambda o: holds(o, "Finished") and not o["metadata"].get("finalizers"), "ended")
            await w.store.delete(WORKLOAD, "g", "team-a")
            await w.create(job("other", "2"))
            await w.until_condition("other", "Finished")
            return await workload(w)

    assert asyncio.run(go()) is None


def test_an_evicted_group_ends_its_pods_and_gives_its_quota_back():
    """They are deleted, since a pod cannot be held again; others of the group may come."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            await w.create(member("a"), member("b"), member("c", group="keeps-the-queue-busy", total=1, cpu="0"))
            await started(w, "a")
            await started(w, "b")
            await w.store.patch(WORKLOAD, "g", "team-a", {"spec": {"active": False}})
            await gone(w, "a")
            await gone(w, "b")

            async def no_quota():
                there = await workload(w)
                return there is None or not holds(there, "QuotaReserved")

            await w.until(no_quota, "the quota is back")
            await w.create(member("d", group="later", total=1, cpu="2"))
            await started(w, "d")
            return {each["metadata"]["name"] for each in (await w.store.list(POD)).items}

    assert asyncio.run(go()) == {"c", "d"}


def test_with_fast_admission_the_first_pod_is_enough():
    """What is missing counts as of its role; the later pods go at once."""

    async def go():
        async with small_cluster(*queues("3")) as w:
            await w.create(member("a", 3, **{FAST: "true"}))
            await started(w, "a")
            admitted = await workload(w)
            await w.create(member("b", 3, **{FAST: "true"}))
            await started(w, "b")
            return admitted

    assert list(counts(asyncio.run(go())).values()) == [3]


def test_a_workload_of_the_groups_name_that_is_another_is_left_alone():
    """The group waits."""
    foreign = {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": "g", "namespace": "team-a"},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}]},
    }

    async def go():
        async with small_cluster(*queues("2"), foreign) as w:
            await w.create(member("a"), member("b"), job("other", "1"))
            await w.until_condition("other", "Finished")
            there = await workload(w)
            return there, [p["spec"].get("schedulingGates") for p in (await w.store.list(POD)).items]

    there, gates = asyncio.run(go())
    assert "ownerReferences" not in there["metadata"]
    assert gates == [[GATE], [GATE]]


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no pods"),
        pytest.param([member("a")], id="one is missing"),
        pytest.param([member("a"), member("b", 3)], id="two totals"),
        pytest.param([member("a", 0)], id="a total of none"),
        pytest.param([member("a"), merge(member("b"), {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})],
                     id="two queues"),
        pytest.param([merge(member("a", 1), {"status": {"phase": "Failed"}})], id="it failed before"),
    ],
)  # fmt: skip
def test_a_group_that_is_not_complete_is_no_job(pods):
    """It waits for the pod, or the edit, that it lacks."""
    assert as_one_job(pods) is None
