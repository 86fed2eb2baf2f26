"""Elastic jobs: they grow by a second Workload that replaces the first, shrink in place, and their pods wait for it."""

import asyncio

import pytest

from tests.cluster.small_cluster import CLOCKS, JOB, below, job, jobset, queues, small_cluster
from webhook.api.snapshot.slices import counts
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.jobs.slice_ungater import to_let_go
from webhook.jobs.elastic import ELASTIC, POD_SET, REPLACES, SLICE
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import POD, GroupVersionKind
from webhook.store.errors import Conflict
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

GATE = {"name": ELASTIC}


def elastic(name, pods=1, cpu="1"):
    """A Job that may change its size, whose template has the gate that the policy suspend-jobs gives it."""
    changes = {
        "metadata": {"annotations": {ELASTIC: "true"}},
        "spec": {"template": {"spec": {"schedulingGates": [GATE]}}},
    }
    return merge(job(name, cpu, parallelism=pods, completions=9), changes)


UNGATED = {"spec": {"template": {"spec": {"schedulingGates": None}}}}


def pod(name, chain="", gated=True, phase="Pending", **labels):
    """A pod of an elastic job, as its template and the policy elastic-pods make it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "labels": {"kueue.x-k8s.io/managed": "true", POD_SET: "main", **labels},
            "annotations": {SLICE: chain},
        },
        "spec": {"containers": [], "schedulingGates": [{"name": "example.com/other"}, *([GATE] if gated else [])]},
        "status": {"phase": phase},
    }


async def slices(w, name="a"):
    """The Workloads of a job, the oldest first."""
    found = (await w.store.list(WORKLOAD)).items
    mine = [s for s in found if s["metadata"]["ownerReferences"][0]["name"] == name]
    return sorted(mine, key=lambda s: REPLACES in s["metadata"]["annotations"])


async def scale(w, pods, name="a"):
    await w.store.patch(JOB, name, "team-a", {"spec": {"parallelism": pods}})


def admitted(workload, pods):
    return holds(workload, "Admitted") and not holds(workload, "Finished") and counts(workload) == {"main": pods}


async def until_admitted(w, pods, name="a"):
    async def one():
        return any(admitted(s, pods) for s in await slices(w, name))

    await w.until(one, f"{name} is admitted with {pods} pods")


async def until_one_ended(w):
    async def ended():
        return any(holds(s, "Finished") for s in await slices(w))

    await w.until(ended, "a Workload of a has ended")


async def free(w):
    """The names of the pods that were let go."""
    return {p["metadata"]["name"] for p in (await w.store.list(POD)).items if GATE not in p["spec"]["schedulingGates"]}


def test_a_job_grows_by_a_second_workload_that_asks_for_the_difference():
    """Of 3 CPU the first holds 2; three fit, since the second replaces it. The job is not stopped, the first ends."""

    async def go():
        async with small_cluster(*queues("3", labels={"pool": "x"}), seconds=None) as w:
            await w.create(elastic("a", 2))
            await w.until_runs("a")
            await scale(w, 3)
            await until_admitted(w, 3)
            await until_one_ended(w)
            return await slices(w), await w.job("a"), w.kubelet.starts

    (old, new), ran, starts = asyncio.run(go())
    assert find(old, "Finished")["reason"] == "WorkloadSliceReplaced"
    chain = old["metadata"]["name"]
    assert new["metadata"]["annotations"][SLICE] == chain
    assert new["metadata"]["annotations"][REPLACES] == f"team-a/{chain}"
    assert new["status"]["admission"]["podSetAssignments"][0]["count"] == 3
    assert new["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "3"}
    assert "nodeSelector" not in new["spec"]["podSets"][0]["template"]["spec"]
    assert ran["spec"]["template"]["metadata"]["annotations"][SLICE] == chain
    assert starts == ["a"]


def test_what_does_not_fit_waits_while_the_job_runs_on():
    """The second Workload is pending; when the job shrinks again, it ends as out of step, and the first stays."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(elastic("a", 2))
            await w.until_runs("a")
            await scale(w, 3)

            async def waits():
                found = await slices(w)
                return len(found) == 2 and (find(found[1], "QuotaReserved") or {}).get("status") == "False"

            await w.until(waits, "the second Workload waits")
            await scale(w, 2)
            await until_one_ended(w)
            return await slices(w), await w.job("a")

    (old, new), ran = asyncio.run(go())
    ended = [s for s in (old, new) if holds(s, "Finished")]
    assert [s["metadata"]["annotations"].get(REPLACES) is None for s in ended] == [False]
    assert find(ended[0], "Finished")["reason"] == "OutOfSync"
    assert not ran["spec"]["suspend"]


def test_a_job_that_shrinks_gives_its_quota_back_in_place():
    """Its Workload stays, with fewer pods, and another job starts."""

    async def go():
        async with small_cluster(*queues("3"), seconds=None) as w:
            await w.create(elastic("a", 3))
            await w.until_runs("a")
            before = await slices(w)
            await w.create(job("b", "2"))
            await w.until_condition("b", "QuotaReserved", "False")
            await scale(w, 1)
            await w.until_runs("b")
            return before, await slices(w), await w.local_status()

    before, after, _ = asyncio.run(go())
    assert [s["metadata"]["uid"] for s in after] == [s["metadata"]["uid"] for s in before]
    assert admitted(after[0], 1)


def test_when_the_first_is_evicted_its_replacement_waits_alone():
    """The job stops, the first Workload ends, and the second asks for everything."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(elastic("a", 2))
            await w.until_runs("a")
            await scale(w, 3)

            async def two():
                return len(await slices(w)) == 2

            await w.until(two, "the job has two Workloads")
            first = (await slices(w))[0]
            await w.store.patch(WORKLOAD, first["metadata"]["name"], "team-a", {"spec": {"active": False}})
            await until_one_ended(w)
            return await slices(w), await w.job("a")

    (old, new), stopped = asyncio.run(go())
    assert find(old, "Finished")["reason"] == "WorkloadSliceReplaced"
    assert not holds(new, "QuotaReserved")
    assert stopped["spec"]["suspend"]


class Interrupted(MemoryStore):
    """Loses the first write by which a Workload is let go, as one of a process that is killed before it."""

    lost = False

    async def patch(self, gvk, name, namespace, patch, **options):
        if gvk == WORKLOAD and "finalizers" in patch.get("metadata", {}) and not self.lost:
            self.lost = True
            raise Conflict("it has changed")
        return await super().patch(gvk, name, namespace, patch, **options)


def test_a_workload_that_has_ended_is_let_go():
    """Whoever comes later does it: a finalizer that stays would keep it, and its namespace, from being deleted."""

    async def go():
        async with small_cluster(*queues("2"), store=Interrupted()) as w:
            await w.create(elastic("a", 1))
            await w.until_condition("a", "Finished")

            async def let_go():
                return not (await w.workload("a"))["metadata"].get("finalizers")

            await w.until(let_go, "the Workload of a is let go")

    asyncio.run(go())


def test_pods_are_let_go_as_many_as_were_admitted():
    """By name; those that came with the growth when it is admitted. The gates of others stay."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(elastic("a", 1))
            await w.until_runs("a")
            chain = (await slices(w))[0]["metadata"]["name"]
            await w.create(pod("p1", chain), pod("p2", chain), pod("q", "another"))

            async def one():
                return await free(w) == {"p1"}

            await w.until(one, "p1 is let go")
            await scale(w, 2)

            async def both():
                return await free(w) == {"p1", "p2"}

            await w.until(both, "p2 is let go too")
            return (await w.store.get(POD, "p1", "team-a"))["spec"]["schedulingGates"]

    assert asyncio.run(go()) == [{"name": "example.com/other"}]


def test_a_pod_that_has_ended_leaves_its_place():
    """What runs counts, what has ended does not; a pod of an unknown set is never let go."""
    pods = [
        pod("done", gated=False, phase="Succeeded"),
        pod("runs", gated=False, phase="Running"),
        pod("next"),
        pod("after"),
        pod("odd", **{POD_SET: "other"}),
    ]
    assert [p["metadata"]["name"] for p in to_let_go({"main": 2}, pods)] == ["after"]
    assert to_let_go({}, pods) == []


def test_a_raycluster_grows_as_well():
    """Its worker groups change, by its autoscaler or by hand; its pods are marked with their set."""
    ray = GroupVersionKind("ray.io", "v1", "RayCluster")
    template = elastic("a")["spec"]["template"]
    workers = {"groupName": "w", "replicas": 1, "template": template}
    spec = {"suspend": True, "headGroupSpec": {"template": template}, "workerGroupSpecs": [workers]}
    cluster = {**elastic("a"), "apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec}

    async def go():
        async with small_cluster(*queues("4"), seconds=None) as w:
            await w.create(cluster)
            await w.until_condition("a", "Admitted")

            async def started():
                return not (await w.store.get(ray, "a", "team-a"))["spec"]["suspend"]

            await w.until(started, "a runs")
            grown = {"spec": {"workerGroupSpecs": [{**workers, "replicas": 2}]}}
            await w.store.patch(ray, "a", "team-a", grown)

            async def replaced():
                found = await slices(w)
                return len(found) == 2 and holds(found[0], "Finished") and holds(found[1], "Admitted")

            await w.until(replaced, "a has a second Workload")
            return [counts(workload) for workload in await slices(w)], await w.store.get(ray, "a", "team-a")

    sizes, runs = asyncio.run(go())
    assert sizes == [{"head": 1, "w": 1}, {"head": 1, "w": 2}]
    assert runs["spec"]["headGroupSpec"]["template"]["metadata"]["labels"][POD_SET] == "head"


RAY_CLUSTER = GroupVersionKind("ray.io", "v1", "RayCluster")


def ray_cluster(**replicas):
    """A RayCluster that may change its size, with worker groups of so many pods of 1 CPU, and a head of 1 CPU."""
    template = elastic("a")["spec"]["template"]
    workers = [{"groupName": name, "replicas": count, "template": template} for name, count in replicas.items()]
    spec = {"suspend": True, "headGroupSpec": {"template": template}, "workerGroupSpecs": workers}
    return {**elastic("a"), "apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec}


def test_one_group_of_workers_grows_while_the_other_shrinks():
    """The second Workload gets what it has more, beside what is left of the first: another job gets the rest."""

    async def go():
        async with small_cluster(*queues("6"), seconds=None) as w:
            await w.create(ray_cluster(x=1, y=3))
            await w.until_condition("a", "Admitted")
            workers = ray_cluster(x=2, y=1)["spec"]["workerGroupSpecs"]
            await w.store.patch(RAY_CLUSTER, "a", "team-a", {"spec": {"workerGroupSpecs": workers}})
            await until_one_ended(w)
            await w.create(job("b", "2"))
            await w.until_runs("b")
            return (await slices(w))[1]["status"]["admission"]["podSetAssignments"]

    given = {each["name"]: (each["count"], each["resourceUsage"]) for each in asyncio.run(go())}
    assert given == {"head": (1, {"cpu": "1"}), "x": (2, {"cpu": "2"}), "y": (1, {"cpu": "1"})}


def test_a_job_that_grows_without_the_gate_is_queued_anew():
    """It is stopped before it is asked for more: its new pods would not wait for their quota."""

    async def go():
        async with small_cluster(*queues("2", labels={"pool": "x"}), seconds=None) as w:
            await w.create(merge(elastic("a", 2), UNGATED))
            await w.until_runs("a")
            await scale(w, 3)

            async def waits():
                (row,) = await slices(w) or [{}]
                return (
                    row and counts(row) == {"main": 3} and (find(row, "QuotaReserved") or {}).get("status") == "False"
                )

            await w.until(waits, "a waits with three pods")
            return await w.job("a")

    stopped = asyncio.run(go())
    assert stopped["spec"]["suspend"]
    assert "nodeSelector" not in stopped["spec"]["template"]["spec"]


def ray(kind, place, **spec):
    """A Ray job whose cluster scales by itself."""
    template = elastic("a")["spec"]["template"]
    cluster = {
        "enableInTreeAutoscaling": True,
        "suspend": True,
        "autoscalerOptions": {"resources": {"requests": {"cpu": "1"}}},
        "headGroupSpec": {"template": template},
        "workerGroupSpecs": [{"groupName": "W", "replicas": 1, "template": template}],
    }
    return {**elastic("a"), "apiVersion": "ray.io/v1", "kind": kind, "spec": {place: cluster, **spec}}


def made_by(stored, place):
    """The cluster that KubeRay makes of a Ray job."""
    made = {**elastic("a-x"), "apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": stored["spec"][place]}
    return below(stored, made)


@pytest.mark.parametrize(
    ("kind", "place", "spec", "status"),
    [
        ("RayJob", "rayClusterSpec", {"suspend": True, "submissionMode": "HTTPMode"}, {"rayClusterName": "a-x"}),
        ("RayService", "rayClusterConfig", {}, {"activeServiceStatus": {"rayClusterName": "a-x"}}),
    ],
)
def test_a_ray_job_follows_the_size_of_its_cluster(kind, place, spec, status):
    """Its autoscaler writes into the RayCluster: the job grows by another Workload, and shrinks in place."""
    gvk = GroupVersionKind("ray.io", "v1", kind)
    made = ray(kind, place, **spec)
    (group,) = made["spec"][place]["workerGroupSpecs"]

    async def scaled(w, pods):
        await w.store.patch(RAY_CLUSTER, "a-x", "team-a", {"spec": {"workerGroupSpecs": [{**group, "replicas": pods}]}})

    async def until_size(w, pods):
        async def one():
            mine = [s for s in await slices(w) if holds(s, "Admitted") and not holds(s, "Finished")]
            return [counts(s)["w"] for s in mine] == [pods]

        await w.until(one, f"a has {pods} workers")

    async def go():
        async with small_cluster(*queues("9"), seconds=None) as w:
            (stored,) = await w.create(made)
            await until_size(w, 1)
            await w.create(made_by(stored, place))
            await w.store.patch(gvk, "a", "team-a", {"status": status}, subresource="status")
            await scaled(w, 3)
            await until_size(w, 3)
            grown = len(await slices(w))
            await scaled(w, 2)
            await until_size(w, 2)
            found = await slices(w)
            others = [s for s in (await w.store.list(WORKLOAD)).items if s not in found]
            return grown, len(found), others

    assert asyncio.run(go()) == (2, 2, [])


class LateAnswer(MemoryStore):
    """Writes the admission of a second Workload at once; the answer comes when `answered` is set."""

    def __init__(self):
        super().__init__(now=CLOCKS.now)
        self.answered = asyncio.Event()

    async def patch(self, gvk, name, namespace, patch, **options):
        done = await super().patch(gvk, name, namespace, patch, **options)
        if REPLACES in done["metadata"].get("annotations", {}) and (patch.get("status") or {}).get("admission"):
            await self.answered.wait()
        return done


def test_the_first_ends_before_the_admission_of_the_second_is_answered():
    """A watch may be faster than an answer: what the first held is the second's, and no other job gets it."""

    async def go():
        store = LateAnswer()
        async with small_cluster(*queues("3"), seconds=None, store=store) as w:
            await w.create(elastic("a", 2))
            await w.until_runs("a")
            await w.create(job("other", "2"))
            await w.until_condition("other", "QuotaReserved", "False")
            await scale(w, 3)
            await until_one_ended(w)
            await w.create(job("last", "1"))
            await w.until_condition("last", "QuotaReserved", "False")
            store.answered.set()
            await until_admitted(w, 3)
            await w.create(job("later", "1"))
            await w.until_condition("later", "QuotaReserved", "False")
            return w.kubelet.starts

    assert asyncio.run(go()) == ["a"]


CHECK = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "AdmissionCheck",
    "metadata": {"name": "c"},
    "spec": {"controllerName": "example.com/c"},
    "status": {"conditions": [{"type": "Active", "status": "True", "reason": "x", "message": ""}]},
}


async def answer(w, workload, state):
    """Let the check of a Workload come to a state."""
    row = {"name": "c", "state": state, "message": "m", "lastTransitionTime": w.stamp()}
    name = workload["metadata"]["name"]
    await w.store.patch(WORKLOAD, name, "team-a", {"status": {"admissionChecks": [row]}}, subresource="status")


@pytest.mark.parametrize("why", ["Retry", "Preempted"])
def test_a_second_workload_that_is_evicted_gives_its_quota_back(why):
    """It waits for its checks, and no pods run by it: the first goes on, and another job gets the quota."""
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}}
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    preempts = {"preemption": {"withinClusterQueue": "LowerPriority"}}

    async def go():
        async with small_cluster(CHECK, high, *queues("3", **checks, **preempts), seconds=None) as w:
            await w.create(elastic("a", 2))
            await answer(w, await w.until_condition("a", "QuotaReserved"), "Ready")
            await w.until_runs("a")
            await asyncio.sleep(1.2)  # the second is the younger one, and is preempted first
            await scale(w, 3)

            async def reserved():
                found = await slices(w)
                return found[1] if len(found) == 2 and holds(found[1], "QuotaReserved") else None

            second = await w.until(reserved, "the second has quota")
            if why == "Retry":
                await answer(w, second, "Retry")

                async def again():
                    return (find((await slices(w))[1], "Requeued") or {}).get("status") == "True"

                await w.until(again, "the second is queued anew")
            else:
                spec = {"spec": {"template": {"spec": {"priorityClassName": "high"}}}}
                await w.create(merge(job("b", "1"), spec))
                await w.until_condition("b", "QuotaReserved")
            return await slices(w), await w.job("a")

    (first, second), ran = asyncio.run(go())
    assert admitted(first, 2)
    assert ran["spec"]["suspend"] is False
    assert not holds(second, "Finished")
    if why == "Preempted":
        assert find(second, "Evicted")["reason"] == "Preempted"
        assert not holds(second, "QuotaReserved")


def test_an_elastic_job_whose_owner_is_queued_later_has_no_workload_of_its_own():
    """What both asked for was counted twice."""

    async def go():
        async with small_cluster(*queues("4"), seconds=None) as w:
            [owner] = await w.create(merge(jobset("o"), {"metadata": {"labels": None}}))
            await w.create(below(owner, elastic("a")))
            await w.until_runs("a")
            labels = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "main"}}}
            await w.store.patch(GroupVersionKind("jobset.x-k8s.io", "v1alpha2", "JobSet"), "o", "team-a", labels)

            await asyncio.sleep(1)
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"annotations": {"changes": "so it is looked at"}}})

            async def of_the_owner():
                found = (await w.store.list(WORKLOAD)).items
                return [s["metadata"]["ownerReferences"][0]["name"] for s in found] == ["o"]

            await w.until(of_the_owner, "the JobSet alone has a Workload")

    asyncio.run(go())
