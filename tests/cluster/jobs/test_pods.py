"""Plain Pods over the store in memory: gated ones wait, are let go with node labels, are ended by deletion."""

import asyncio

from tests.cluster.small_cluster import below, job, make_controller, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD
from webhook.jobs.read_job import MARK
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import POD
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

GATE = {"name": "kueue.x-k8s.io/admission"}


def pod(name, cpu="1", **labels):
    """A Pod as the policy suspend-pods leaves it, with another's gate beside ours where `other` is asked for."""
    names = {"kueue.x-k8s.io/queue-name": "main", MARK: "true", **labels}
    names = {name: value for name, value in names.items() if value is not None}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-a", "labels": names},
        "spec": {"containers": [container], "schedulingGates": [GATE], "nodeSelector": {"zone": "z"}},
    }


async def found(w, name):
    return await w.store.get(POD, name, "team-a")


async def started(w, name):
    async def free():
        return "schedulingGates" not in (await found(w, name))["spec"]

    await w.until(free, f"{name} is let go")
    return await found(w, name)


async def gone(w, name):
    async def away():
        return name not in {p["metadata"]["name"] for p in (await w.store.list(POD)).items}

    await w.until(away, f"{name} is deleted")


async def end(w, name, phase="Succeeded"):
    await w.store.patch(POD, name, "team-a", {"status": {"phase": phase}}, subresource="status")


def test_the_second_pod_starts_when_the_first_has_ended():
    """Quota for one: the first gets node labels and loses its gate, the second follows; both Workloads end Finished."""

    async def go():
        async with small_cluster(*queues("1", labels={"pool": "a100"})) as w:
            await w.create(pod("a"), pod("b"))
            first = await started(w, "a")
            await w.until_condition("b", "QuotaReserved", "False")
            waiting = await found(w, "b")
            await end(w, "a")
            ended = await w.until_condition("a", "Finished")
            await started(w, "b")
            await end(w, "b", "Failed")
            failed = await w.until_condition("b", "Finished")
            return first, waiting, ended, failed

    first, waiting, ended, failed = asyncio.run(go())
    assert first["spec"]["nodeSelector"] == {"pool": "a100", "zone": "z"}
    assert waiting["spec"]["schedulingGates"] == [GATE]
    assert find(ended, "Finished")["reason"] == "Succeeded"
    assert find(failed, "Finished")["reason"] == "Failed"
    assert ended["metadata"]["ownerReferences"][0]["kind"] == "Pod"


def test_only_our_gate_is_taken_off():
    """Another's gate stays, and the pod counts as started: its quota is held."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(merge(pod("a"), {"spec": {"schedulingGates": [{"name": "example.com/data"}, GATE]}}))

            async def ours_is_off():
                return (await found(w, "a"))["spec"]["schedulingGates"] == [{"name": "example.com/data"}]

            await w.until(ours_is_off, "our gate is off")
            return await w.workload("a")

    assert holds(asyncio.run(go()), "Admitted")


def test_a_preempted_pod_is_deleted_with_the_reason():
    """A pod of higher priority takes the place: the other ends with a condition that says so, and its quota is free."""
    preemption = {"withinClusterQueue": "LowerPriority"}
    high = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}

    async def go():
        async with small_cluster(*queues("1", preemption=preemption), {**high, "value": 9}) as w:
            await w.create(merge(pod("low"), {"metadata": {"finalizers": ["tests/watch"]}}))
            await started(w, "low")
            await w.store.patch(POD, "low", "team-a", {"status": {"phase": "Running"}}, subresource="status")
            await w.create(pod("high", **{"kueue.x-k8s.io/priority-class": "high"}))

            async def marked():
                return bool((await found(w, "low"))["metadata"].get("deletionTimestamp"))

            await w.until(marked, "low is being deleted")
            low, rival = await found(w, "low"), await found(w, "high")
            await w.store.patch(POD, "low", "team-a", {"metadata": {"finalizers": None}})
            await started(w, "high")
            return low, rival, await w.workload("low")

    low, rival, workload = asyncio.run(go())
    condition = find(low, "TerminationTarget")
    assert condition["reason"] == "WorkloadEvictedDueToPreempted"
    assert condition["message"].startswith("Preempted to accommodate a workload (UID: ")
    assert rival["spec"]["schedulingGates"] == [GATE], "the quota is held until the pod is gone"
    assert workload is None


def test_a_pod_whose_gate_somebody_else_took_off_is_ended():
    """It has no quota, so it may not run; it cannot be held again, so it is deleted."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(pod("a"))
            await started(w, "a")
            await w.create(pod("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            events = w.store.watch(POD, (await w.store.list(POD)).version)
            await w.store.patch(POD, "b", "team-a", {"spec": {"schedulingGates": None}})
            await gone(w, "b")
            seen = []
            async for event in events:
                seen.append(event)
                if event.type == "DELETED":
                    break
            await events.aclose()
            return seen[-1].object, await found(w, "a")

    last, first = asyncio.run(go())
    assert last["metadata"]["name"] == "b"
    assert find(last, "TerminationTarget")["reason"] == "NotAdmitted"
    assert "schedulingGates" not in first["spec"]


def test_a_deleted_pod_gives_its_place_back():
    """Deleted while it waits, or while it runs: the next one starts, and no Workload is left of it."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(pod("a"))
            await started(w, "a")
            await w.create(pod("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            await w.create(pod("c"))
            await w.store.delete(POD, "b", "team-a")
            await w.store.delete(POD, "a", "team-a")
            await started(w, "c")

            async def one():
                return len((await w.store.list(WORKLOAD)).items) == 1

            await w.until(one, "only one Workload is left")
            [left] = (await w.store.list(WORKLOAD)).items
            return left["metadata"]["ownerReferences"][0]["name"], holds(left, "Admitted")

    assert asyncio.run(go()) == ("c", True)


def test_pods_that_were_never_gated_are_left_alone():
    """Without the mark no Workload is made and nothing is deleted, though the pod names a queue and runs."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            old = merge(pod("old", **{MARK: None}), {"spec": {"schedulingGates": None}})
            await w.create(old, pod("a"))
            await started(w, "a")
            await asyncio.sleep(0.2)
            return await w.workload("old"), await found(w, "old")

    workload, old = asyncio.run(go())
    assert workload is None
    assert "deletionTimestamp" not in old["metadata"]


def test_a_restart_ends_no_pod_that_runs():
    """Whoever takes over finds running and waiting pods, and goes on: nothing is deleted, nothing started twice."""

    async def go():
        store = MemoryStore()
        async with small_cluster(*queues("1"), store=store) as w:
            await w.create(pod("a"), pod("b"))
            await started(w, "a")
            for _ in range(4):
                await w.controller.stop()
                await w.view.stop()
                w.controller, w.view, _ = make_controller(store)
                w.view.start()
                w.controller.start()
                await asyncio.sleep(0.15)
            both = await found(w, "a"), await found(w, "b")
            await end(w, "a")
            await started(w, "b")
            return both

    first, second = asyncio.run(go())
    assert "deletionTimestamp" not in first["metadata"]
    assert second["spec"]["schedulingGates"] == [GATE]


def test_a_gate_that_a_job_s_pod_should_not_have_is_taken_off():
    """A pod that was gated before its owner's quota came into view is its Job's: it is let go, without a Workload."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            [owner] = await w.create(job("j"))
            await w.until_condition("j", "Admitted")
            await w.create(below(owner, pod("a")))
            await started(w, "a")
            return await w.workload("a")

    assert asyncio.run(go()) is None
