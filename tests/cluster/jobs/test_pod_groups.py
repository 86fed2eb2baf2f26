"""Groups of plain pods: one Workload for all, let go together, replaced one by one, ended by deletion."""

import asyncio

import pytest

from tests.cluster.jobs.test_pods import GATE, end, found, gone, pod, started
from tests.cluster.small_cluster import job, queues, small_cluster
from tests.cluster.workloads.test_admission_checks import checked
from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import API_VERSION
from webhook.api.snapshot.slices import counts
from webhook.api.snapshot.workload import GATE as ADMISSION_GATE
from webhook.cluster.api.kinds import WORKLOAD, WORKLOAD_CLASS
from webhook.jobs.pod_groups import FAST, GROUP, RETRIABLE, TOTAL, as_one_job
from webhook.jobs.read_job import PRIORITY
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
    """The group waits for the pod, or the edit, that it lacks."""
    assert as_one_job(pods) is None


def of_class(name, value):
    return {
        "apiVersion": API_VERSION,
        "kind": WORKLOAD_CLASS.kind,
        "metadata": {"name": name},
        "value": value,
    }


def test_a_group_follows_its_class_and_the_value_of_it():
    """While it waits, and while it runs: as the Workload of a job does."""

    async def go():
        of_low = {"metadata": {"labels": {PRIORITY: "low"}}}
        classes = of_class("low", 1), of_class("high", 9)
        async with small_cluster(*queues("1"), *classes, seconds=None) as w:
            await w.create(job("busy"))
            await w.until_runs("busy")
            await w.create(*(merge(member(name, cpu="500m"), of_low) for name in ("a", "b")))
            await until_workload(w, lambda o: o["spec"]["priority"] == 1, "has the value of its class")
            await w.store.patch(WORKLOAD_CLASS, "low", None, {"value": 3})
            await until_workload(w, lambda o: o["spec"]["priority"] == 3, "has the new value")
            await w.kubelet.end("busy")
            await started(w, "a")
            await w.store.patch(POD, "a", "team-a", {"metadata": {"labels": {PRIORITY: "high"}}})
            await w.store.patch(POD, "b", "team-a", {"metadata": {"labels": {PRIORITY: "high"}}})
            return await until_workload(w, lambda o: o["spec"]["priority"] == 9, "has the value of the other class")

    assert asyncio.run(go())["spec"]["priorityClassRef"]["name"] == "high"


def test_a_group_waits_until_the_last_of_its_pods_names_no_gate():
    """An annotation that a controller takes off its pods lets the whole group into its queue."""
    settings = QueueSettings(feature_gates={"AdmissionGatedBy": True})

    async def go():
        gated = {"metadata": {"annotations": {ADMISSION_GATE: "example.com/x"}}}
        async with small_cluster(*queues("2"), seconds=None, settings=settings) as w:
            await w.create(merge(member("a"), gated), merge(member("b"), gated))

            def is_gated(obj):
                return (find(obj, "QuotaReserved") or {}).get("reason") == "AdmissionGated"

            await until_workload(w, is_gated, "waits for its gate")
            for name in ("a", "b"):
                await w.store.patch(POD, name, "team-a", {"metadata": {"annotations": {ADMISSION_GATE: None}}})
            await started(w, "a")
            await started(w, "b")

    asyncio.run(go())


CONFLICT = "check one changes nodeSelector pool to other"


@pytest.mark.parametrize("roles", [("1", "1"), ("1", "2")], ids=["one role", "two, of which one could run"])
def test_a_group_that_its_checks_send_elsewhere_ends(roles):
    """Its flavor says otherwise, so not one of its pods goes, and its quota is another's."""

    async def go():
        async with small_cluster(*checked({"name": "one"}, cpu="3", labels={"pool": "x"}), seconds=None) as w:
            await w.create(*(member(name, cpu=cpu) for name, cpu in zip("ab", roles, strict=True)))
            made = await until_workload(w, lambda o: holds(o, "QuotaReserved"), "has quota")
            last = made["spec"]["podSets"][-1]["name"]
            (row,) = made["status"]["admissionChecks"]
            updates = [{"name": last, "nodeSelector": {"pool": "other"}}]
            ready = {**row, "state": "Ready", "podSetUpdates": updates}
            await w.store.patch(WORKLOAD, "g", "team-a", {"status": {"admissionChecks": [ready]}}, subresource="status")
            ended = await until_workload(w, lambda o: holds(o, "Finished"), "ended")
            return ended, [(await found(w, name))["spec"]["schedulingGates"] for name in ("a", "b")]

    ended, gates = asyncio.run(go())
    assert (find(ended, "Finished")["reason"], find(ended, "Finished")["message"]) == ("FailedToStart", CONFLICT)
    assert gates == [[GATE], [GATE]]
