"""The controller over the store in memory: jobs wait, start, end, are evicted, and nothing is lost on the way."""

import asyncio
from collections import Counter

import pytest

from tests.cluster.small_cluster import JOB, below, job, jobset, make_controller, queues, small_cluster
from webhook.cluster.api.event_recorder import EVENT
from webhook.cluster.api.kinds import CLUSTER_QUEUE, FLAVOR, WORKLOAD
from webhook.cluster.workloads.conditions import WAITING
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import POD
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge


def test_jobs_run_within_quota_until_all_are_done():
    """Six one-CPU jobs on two CPUs all finish, and never more than two CPUs are in use."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:

            async def full():
                return len(w.kubelet.running) == 2

            await w.create(*(job(f"j{n}") for n in range(6)))
            for _ in range(3):
                await w.until(full, "two jobs run")
                for name in w.kubelet.starts[-2:]:
                    await w.until_runs(name)
                    await w.kubelet.end(name)
                    await w.until_condition(name, "Finished")
            return w.kubelet.peak, w.kubelet.starts

    peak, starts = asyncio.run(go())
    assert peak == 2
    assert sorted(starts) == [f"j{n}" for n in range(6)]


def test_an_admission_is_written_before_the_job_starts():
    """The Workload says admitted, with flavor and usage, at a version before that of the unsuspended Job."""

    async def go():
        async with small_cluster(*queues("2", labels={"pool": "a100"}), seconds=None) as w:
            await w.create(job("a"))
            events = w.store.watch(JOB, "0")
            async for event in events:
                if event.object["spec"]["suspend"] is False:
                    break
            await events.aclose()
            workload = await w.workload("a")
            changes = [e.object async for e in _first(w.store.watch(WORKLOAD, "0"), 3)]
            return event.object, workload, changes

    async def _first(events, count):
        async for event in events:
            if any(c["type"] == "Admitted" for c in (event.object.get("status") or {}).get("conditions") or []):
                yield event
                break
        await events.aclose()

    started, workload, changes = asyncio.run(go())
    assert int(changes[0]["metadata"]["resourceVersion"]) < int(started["metadata"]["resourceVersion"])
    admission = workload["status"]["admission"]
    assert admission["clusterQueue"] == "cq"
    assert admission["podSetAssignments"] == [
        {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    ]
    assert started["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a100"}


def test_a_job_that_does_not_fit_says_why():
    """A waiting Workload has QuotaReserved=False with a reason, and it is written once, not again and again."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("big", cpu="2"), job("late", cpu="1"))
            await w.until_condition("big", "Admitted")
            await w.until_waits("late", "WaitingForQuota")  # it may be told of before a round has looked at it
            waiting = await w.workload("late")
            await asyncio.sleep(0.3)
            return waiting, await w.workload("late")

    before, after = asyncio.run(go())
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    assert after["status"]["conditions"][0]["reason"]


TOLD = Counter(CreatedWorkload=3, QuotaReserved=2, Admitted=2, Started=2, WaitingForQuota=1)
"""The events of three jobs of which two run and one waits."""


def test_nothing_is_written_when_nothing_changes():
    """A settled cluster gets no writes at all."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("a"), job("b"), job("c"))
            await w.until_condition("a", "Admitted")
            await w.until_condition("c", "QuotaReserved", "False")

            async def settled():
                status = await w.local_status()
                counts = status.get("admittedWorkloads"), status.get("pendingWorkloads")
                told = Counter(event["reason"] for event in (await w.store.list(EVENT)).items)
                return counts == (2, 1) and told == TOLD

            await w.until(settled, "the queue's status and every event are written")
            version = (await w.store.list(WORKLOAD)).version
            await asyncio.sleep(1.2)
            return version, (await w.store.list(WORKLOAD)).version

    before, after = asyncio.run(go())
    assert before == after


def test_a_job_that_runs_without_admission_is_stopped():
    """Somebody unsuspends a waiting job by hand: it is suspended again."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Admitted")
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            await w.store.patch(JOB, "b", "team-a", {"spec": {"suspend": False}})

            async def stopped():
                return (await w.job("b"))["spec"]["suspend"] is True

            await w.until(stopped, "b is suspended again")
            return (await w.job("a"))["spec"]["suspend"]

    assert asyncio.run(go()) is False


def test_a_preempted_job_is_stopped_restored_and_waits_again():
    """A job of higher priority takes the place: the other is suspended, its template as before, and runs later."""
    classes = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 100}
    preemption = {"withinClusterQueue": "LowerPriority"}

    async def go():
        given = queues("1", labels={"pool": "a100"}, preemption=preemption)
        async with small_cluster(*given, {**classes, "metadata": {"name": "high"}}, seconds=None) as w:
            await w.create(job("low"))
            await w.until_runs("low")
            important = job("high")
            important["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
            await w.create(important)
            await w.until_condition("high", "Admitted")
            low, workload = await w.job("low"), await w.workload("low")
            await w.until_runs("high")
            await w.kubelet.end("high")
            await w.until_runs("low")
            return low, workload, w.kubelet.peak, w.kubelet.starts, await w.job("low")

    low, workload, peak, starts, again = asyncio.run(go())
    assert low["spec"]["suspend"] is True
    assert "nodeSelector" not in low["spec"]["template"]["spec"]
    assert {c["type"]: c["status"] for c in workload["status"]["conditions"]}["Evicted"] == "True"
    assert "admission" not in workload["status"]
    assert peak == 1
    assert starts == ["low", "high", "low"]
    assert again["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a100"}


def test_quota_is_held_until_the_pods_of_a_deleted_job_are_gone():
    """Deleting a running job frees its quota only when no pod of it is left."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            [made] = await w.create(job("a"))
            await w.until_condition("a", "Admitted")
            uid = made["metadata"]["uid"]
            labels = {"batch.kubernetes.io/controller-uid": uid}
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": "team-a", "labels": labels},
            }
            [pod] = await w.create(pod)
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            await w.store.delete(JOB, "a", "team-a")
            await asyncio.sleep(0.3)
            held = await w.workload("a")
            await w.store.delete(POD, "p", "team-a")
            await w.until_condition("b", "Admitted")
            return held, await w.workload("a")

    held, after = asyncio.run(go())
    assert held is not None
    assert after is None


def test_a_restart_loses_nothing_and_admits_nothing_twice():
    """A second controller that starts on the same objects goes on where the first was stopped, at any point."""

    async def go():
        store = MemoryStore()
        async with small_cluster(*queues("2"), store=store, seconds=0.2) as w:
            await w.create(*(job(f"j{n}") for n in range(8)))
            for _ in range(5):
                await asyncio.sleep(0.1)
                await w.controller.stop()
                await w.view.stop()
                w.controller, w.view, _ = make_controller(store)
                w.view.start()
                w.controller.start()
            for n in range(8):
                await w.until_condition(f"j{n}", "Finished")
            await w.view.stop()
            return w.kubelet.peak, w.kubelet.starts

    peak, starts = asyncio.run(go())
    assert peak <= 2
    assert sorted(starts) == [f"j{n}" for n in range(8)], "each job started exactly once"


def test_a_step_that_was_cut_off_is_taken_up():
    """An admission without the start, as a crash between the two writes leaves it, ends in a running job."""

    async def go():
        store = MemoryStore()
        async with small_cluster(*queues("1"), store=store, seconds=None) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Admitted")
            await w.until(lambda: _runs(w), "a runs")
            await w.controller.stop()
            await store.patch(JOB, "a", "team-a", {"spec": {"suspend": True}})
            w.controller, w.view, _ = make_controller(store)
            w.view.start()
            w.controller.start()
            await w.until(lambda: _runs(w), "a runs again")
            return True

    async def _runs(w):
        return (await w.job("a"))["spec"]["suspend"] is False

    assert asyncio.run(go())


def test_jobs_of_other_namespaces_and_owned_jobs_are_left_alone():
    """Without opt-in nothing is touched; a Job of a JobSet gets no Workload; a forged owner, or a Job, counts not."""

    async def go():
        async with small_cluster(*queues("5"), seconds=None, opted=lambda labels: labels.get("team") == "a") as w:
            gang, plain = await w.create(jobset("a"), job("plain"))
            nobody = merge(gang, {"metadata": {"uid": "nobody"}})
            rows = {"child": gang, "forged": nobody, "below": plain}
            await w.create(*(below(owner, job(name)) for name, owner in rows.items()))
            await w.create(job("elsewhere", namespace="other"))
            for name in ("a", "plain", "forged", "below"):
                await w.until_condition(name, "Admitted")
            return [(await w.workload(name)) is not None for name in ("child", "elsewhere")]

    assert asyncio.run(go()) == [False, False]


def test_what_was_queued_before_its_owner_was_admitted_is_left_to_it():
    """A Job that ran below a held JobSet is queued by itself; what it was given goes when its JobSet has quota."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(job("first"))
            await w.until_condition("first", "Admitted")
            [gang] = await w.create(jobset("a"))
            await w.create(below(gang, job("child", suspend=False)))

            async def held():
                return (await w.job("child"))["spec"]["suspend"] and await w.workload("child") is None

            await w.until(held, "the child is held with its JobSet, without a Workload")
            await w.kubelet.end("first")
            await w.until_condition("a", "Admitted")
            return await w.workload("child")

    assert asyncio.run(go()) is None


def test_the_status_of_the_queues_is_kept():
    """ClusterQueue and LocalQueue say how many wait and run, what is used, and whether they are active."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("a", cpu="1500m"), job("b"))

            async def counted():
                return (await w.local_status()).get("pendingWorkloads") == 1

            await w.until_condition("a", "Admitted")
            await w.until(counted, "one waits")
            queue = (await w.store.get(CLUSTER_QUEUE, "cq"))["status"]
            await w.store.delete(FLAVOR, "f", None)

            async def inactive():
                found = (await w.store.get(CLUSTER_QUEUE, "cq"))["status"]["conditions"][0]
                return found["status"] == "False" and found["reason"] == "FlavorNotFound"

            await w.until(inactive, "the queue without its flavor is inactive")
            return queue

    status = asyncio.run(go())
    assert (status["pendingWorkloads"], status["reservingWorkloads"], status["admittedWorkloads"]) == (1, 1, 1)
    used = [{"name": "f", "resources": [{"name": "cpu", "total": "1500m", "borrowed": "0"}]}]
    assert status["flavorsUsage"] == used
    assert status["conditions"][0]["type"] == "Active"
    assert status["conditions"][0]["status"] == "True"


def test_an_edit_of_a_waiting_job_reaches_its_workload():
    """A waiting job that asks for less, or moves to another queue, has its Workload made anew and may start."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("a", cpu="3"))
            await w.until_condition("a", "QuotaReserved", "False")
            found = await w.job("a")
            smaller = merge(found, {"spec": job("a", cpu="1")["spec"]})
            await w.store.update(smaller)
            return await w.until_condition("a", "Admitted")

    workload = asyncio.run(go())
    assert workload["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "1"}


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_the_order_that_a_strategy_promises(strategy):
    """A big job that does not fit blocks a small one behind it in StrictFIFO, and does not in BestEffortFIFO."""

    async def go():
        async with small_cluster(*queues("2", strategy=strategy), seconds=None) as w:
            await w.create(job("first", cpu="1"))
            await w.until_condition("first", "Admitted")
            await w.create(job("big", cpu="2"))
            await w.until_condition("big", "QuotaReserved", "False")
            await w.create(job("small", cpu="1"))
            await w.until(lambda: _settled(w), "small has quota, or waits behind big")
            small = await w.workload("small")
            return {c["type"]: c["status"] for c in small["status"]["conditions"]}["QuotaReserved"]

    async def _settled(w):
        """A Workload may be told of before a round has looked at it: QuotaReserved is False then, as behind big."""
        found = await w.workload("small") or {}
        return holds(found, "QuotaReserved") or (find(found, WAITING) or {}).get("reason") == "BehindHead"

    assert asyncio.run(go()) == ("False" if strategy == "StrictFIFO" else "True")
