"""StatefulSets and LeaderWorkerSets over the store in memory: their pods are admitted together, and come back."""

import asyncio

import pytest

from tests.cluster.jobs.test_pods import GATE, end, found, gone, pod, started
from tests.cluster.small_cluster import below, queues, small_cluster
from webhook.api.configuration.sections import Integrations, QueueSettings
from webhook.api.job_to_workload import workload_name
from webhook.api.snapshot.slices import counts
from webhook.cluster.api.kinds import WORKLOAD
from webhook.jobs.pod_groups import FAST, GROUP, ROLE, SERVING, TOTAL, group_of
from webhook.jobs.pod_parents import LWS_INDEX, LWS_LEADER, LWS_NAME, PARENT, REVISION, groups_of, joined
from webhook.jobs.read_job import read_job
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import POD, GroupVersionKind
from webhook.store.objects import merge

STATEFUL_SET = GroupVersionKind("apps", "v1", "StatefulSet")
LEADER_WORKER_SET = GroupVersionKind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
QUEUE = {"kueue.x-k8s.io/queue-name": "main"}


def template(parent, cpu="1"):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": "x"}, "annotations": {PARENT: parent}}, "spec": {"containers": [container]}}


def stateful_set(name="db", replicas=2, parent="statefulset"):
    """A StatefulSet as the policy suspend-serving leaves it."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "team-a", "labels": dict(QUEUE)},
        "spec": {"replicas": replicas, "template": template(parent)},
    }


def leader_worker_set(replicas=2, size=3, leader=True):
    """A LeaderWorkerSet as the policy leaves it."""
    templates = {"workerTemplate": template(LWS), **({"leaderTemplate": template(LWS, "2")} if leader else {})}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm", "namespace": "team-a", "labels": dict(QUEUE)},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": {"size": size, **templates}},
    }


def member(owner, name, parent="statefulset", **labels):
    """A pod as its controller makes it, and suspend-pods leaves it: it names no queue and no group."""
    made = merge(pod(name, **labels), {"metadata": {"annotations": {PARENT: parent}}})
    del made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    return below(owner, made)


def name_of(owner, index=""):
    metadata, group = owner["metadata"], owner["apiVersion"].rpartition("/")[0]
    name = f"{metadata['name']}-{index}" if index else metadata["name"]
    return workload_name(owner["kind"], group, name, metadata["uid"])


async def until_workload(w, name, condition, what):
    async def so():
        there = {each["metadata"]["name"]: each for each in (await w.store.list(WORKLOAD)).items}
        return name in there and condition(there[name])

    await w.until(so, f"{name} {what}")
    return await w.store.get(WORKLOAD, name, "team-a")


def test_the_pods_of_a_stateful_set_are_admitted_together():
    """Its Workload is there before its pods are; they are told their group, let go, and replaced in their places."""

    async def go():
        async with small_cluster(*queues("2", labels={"pool": "x"})) as w:
            [owner] = await w.create(stateful_set())
            name = name_of(owner)
            admitted = await until_workload(w, name, lambda o: holds(o, "Admitted"), "is admitted")
            await w.create(member(owner, "db-0"))
            first = await started(w, "db-0")
            await w.create(member(owner, "db-1"))
            await started(w, "db-1")
            await end(w, "db-0")
            await w.store.delete(POD, "db-0", "team-a")
            await w.create(member(owner, "db-0"))
            await started(w, "db-0")
            return admitted, first, await w.store.get(WORKLOAD, name, "team-a")

    admitted, first, after = asyncio.run(go())
    metadata = admitted["metadata"]
    assert counts(admitted) == {"main": 2}
    assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["StatefulSet"]
    assert metadata["annotations"]["kueue.x-k8s.io/job-owner-gvk"] == "apps/v1, Kind=StatefulSet"
    told = first["metadata"]["annotations"]
    assert {told[GROUP], told["kueue.x-k8s.io/prebuilt-workload-name"]} == {metadata["name"]}
    assert (told[TOTAL], told[SERVING], told[FAST], told[ROLE]) == ("2", "true", "true", "main")
    assert first["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main"
    assert first["spec"]["nodeSelector"]["pool"] == "x"
    assert after["metadata"]["uid"] == metadata["uid"]
    assert holds(after, "Admitted")
    assert not holds(after, "Finished")
    assert not after["status"].get("reclaimablePods")


def test_a_stateful_set_without_quota_waits_whole():
    """None of its pods starts, though one would fit."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            [owner] = await w.create(stateful_set())
            await w.create(member(owner, "db-0"))
            name = name_of(owner)
            await until_workload(w, name, lambda o: (find(o, "QuotaReserved") or {}).get("status") == "False", "waits")

            async def told():
                return GROUP in (await found(w, "db-0"))["metadata"]["annotations"]

            await w.until(told, "the pod knows its group")
            return (await found(w, "db-0"))["spec"]["schedulingGates"]

    assert asyncio.run(go()) == [GATE]


def test_an_evicted_stateful_set_gets_its_pods_again():
    """They are ended; those that its controller makes in their places wait until it is admitted again."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            [owner] = await w.create(stateful_set(replicas=1))
            name = name_of(owner)
            await w.create(member(owner, "db-0"))
            await started(w, "db-0")
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            await gone(w, "db-0")
            await until_workload(w, name, lambda o: not holds(o, "QuotaReserved"), "has no quota")
            await w.create(member(owner, "db-0"))
            held = (await found(w, "db-0"))["spec"]["schedulingGates"]
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": True}})
            await started(w, "db-0")
            return held

    assert asyncio.run(go()) == [GATE]


def test_scaled_to_zero_it_is_on_hold_and_comes_back_with_another_size():
    """Its Workload stays, gives its quota back, and is not admitted before it is scaled up."""

    async def go():
        async with small_cluster(*queues("3")) as w:
            [owner] = await w.create(stateful_set(replicas=1))
            name = name_of(owner)
            before = await until_workload(w, name, lambda o: holds(o, "Admitted"), "is admitted")
            await w.store.patch(STATEFUL_SET, "db", "team-a", {"spec": {"replicas": 0}})
            held = await until_workload(
                w, name, lambda o: (find(o, "QuotaReserved") or {}).get("reason") == "OnHold", "is on hold"
            )
            await asyncio.sleep(0.3)
            still = await w.store.get(WORKLOAD, name, "team-a")
            await w.store.patch(STATEFUL_SET, "db", "team-a", {"spec": {"replicas": 3}})
            return before, held, still, await until_workload(w, name, lambda o: holds(o, "Admitted"), "is back")

    before, held, still, back = asyncio.run(go())
    assert find(held, "QuotaReserved")["message"] == "StatefulSet scaled to zero; workload on hold"
    assert find(still, "QuotaReserved")["reason"] == "OnHold"
    assert back["metadata"]["uid"] == before["metadata"]["uid"]
    assert counts(back) == {"main": 3}


def test_the_workload_of_an_older_kueue_is_taken_over():
    """Its name has no UID; no other is made beside it."""
    old = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": workload_name("StatefulSet", "apps", "db", ""),
            "namespace": "team-a",
            "annotations": {"kueue.x-k8s.io/is-group-workload": "true"},
        },
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template("x")}]},
    }

    async def go():
        async with small_cluster(*queues("3"), old) as w:
            [owner] = await w.create(stateful_set(replicas=1))
            await w.create(member(owner, "db-0"))
            await started(w, "db-0")
            return owner, (await w.store.list(WORKLOAD)).items

    owner, workloads = asyncio.run(go())
    assert [each["metadata"]["name"] for each in workloads] == [old["metadata"]["name"]]
    assert owner["metadata"]["uid"] in {each["uid"] for each in workloads[0]["metadata"]["ownerReferences"]}


def test_a_roll_out_lets_pods_of_the_old_revision_go():
    """It waits for them, and they have quota; pods of the new one take their places when they are gone."""
    rolls = {"status": {"currentRevision": "one", "updateRevision": "two"}}

    async def go():
        async with small_cluster(*queues("3")) as w:
            [owner] = await w.create(stateful_set(replicas=1))
            await until_workload(w, name_of(owner), lambda o: holds(o, "Admitted"), "is admitted")
            await w.store.patch(STATEFUL_SET, "db", "team-a", rolls, subresource="status")
            foreign = merge(
                member(owner, "db-0", **{REVISION: "one"}),
                {"metadata": {"annotations": {GROUP: name_of(owner), ROLE: "another"}}},
            )
            topology = {"spec": {"schedulingGates": [GATE, {"name": "kueue.x-k8s.io/topology"}]}}
            await w.create(merge(foreign, topology))
            pod = await started(w, "db-0")
            return group_of(pod) == name_of(owner), pod["metadata"]["annotations"][ROLE]

    assert asyncio.run(go()) == (True, "another")


@pytest.mark.parametrize(
    ("owner", "settings"),
    [
        pytest.param(stateful_set(parent=LWS), None, id="its pods wait with something else"),
        pytest.param(merge(stateful_set(), {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}}), None,
                     id="it names no queue"),
        pytest.param(stateful_set(), QueueSettings(integrations=Integrations(("batch/job", "pod"))),
                     id="the kind is not queued here"),
    ],
)  # fmt: skip
def test_what_is_not_the_queue_s_is_left_alone(owner, settings):
    """It gets no Workload."""

    async def go():
        async with small_cluster(*queues("3"), settings=settings) as w:
            await w.create(owner, stateful_set("other"))
            if settings is None:
                others = lambda: [o for o in w.view.informer(WORKLOAD).all() if "-other-" in o["metadata"]["name"]]  # noqa: E731

                async def there():
                    return bool(others())

                await w.until(there, "the other one has its Workload")
            await asyncio.sleep(0.2)
            return [each["metadata"]["name"] for each in (await w.store.list(WORKLOAD)).items]

    assert not [name for name in asyncio.run(go()) if "-db-" in name]


def test_each_group_of_a_leader_worker_set_is_admitted_by_itself():
    """The second waits for quota; scaled down, its Workload goes."""

    async def go():
        async with small_cluster(*queues("5")) as w:
            [owner] = await w.create(leader_worker_set())
            first, second = name_of(owner, "0"), name_of(owner, "1")
            admitted = await until_workload(w, first, lambda o: holds(o, "Admitted"), "is admitted")
            waiting = await until_workload(
                w, second, lambda o: (find(o, "QuotaReserved") or {}).get("status") == "False", "waits"
            )
            labels = {LWS_NAME: "llm", LWS_INDEX: "0"}
            leader = member(owner, "llm-0", LWS, **labels)
            worker = merge(
                member(owner, "llm-0-1", LWS, **labels), {"metadata": {"annotations": {LWS_LEADER: "llm-0"}}}
            )
            await w.create(leader, worker)
            pods = [await started(w, "llm-0"), await started(w, "llm-0-1")]
            await w.store.patch(LEADER_WORKER_SET, "llm", "team-a", {"spec": {"replicas": 1}})

            async def away():
                return [each["metadata"]["name"] for each in (await w.store.list(WORKLOAD)).items] == [first]

            await w.until(away, "the second is gone")
            return admitted, waiting, [each["metadata"]["annotations"] for each in pods]

    admitted, waiting, pods = asyncio.run(go())
    assert counts(admitted) == counts(waiting) == {"leader": 1, "worker": 2}
    assert admitted["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"] == "0"
    assert [each[ROLE] for each in pods] == ["leader", "worker"]
    assert {each[TOTAL] for each in pods} == {"3"}
    assert all(FAST not in each for each in pods)


def test_a_leader_worker_set_without_leaders_has_one_role():
    """Kueue's name for it is main. A roll-out has a group more for a while."""
    owner = leader_worker_set(replicas=1, leader=False)
    rolls = merge(owner, {
        "spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": 1}}},
        "status": {"replicas": 2, "updatedReplicas": 0},
    })  # fmt: skip
    described = read_job(owner)
    assert described is not None
    assert [(group.index, {p.name: p.count for p in group.pod_sets}) for group in groups_of(owner, described)] == [
        ("0", {"main": 3})
    ]
    assert [group.index for group in groups_of(rolls, described)] == ["0", "1"]
    early = merge(pod("llm-0"), {"metadata": {"annotations": {PARENT: LWS}}})
    assert joined(early, owner, described, str) == {}, "its group is not known yet"
