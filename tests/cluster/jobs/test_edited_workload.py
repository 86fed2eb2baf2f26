"""Somebody edits the Workload of a job that waits: its queue and its pods are set right by the job."""

import asyncio

import pytest

from tests.cluster.jobs.test_deactivated import OTHER_QUEUE
from tests.cluster.jobs.test_pod_groups import member
from tests.cluster.jobs.test_pod_parents import STATEFUL_SET, name_of, stateful_set, until_workload
from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.jobs.drafts import Drafts
from webhook.cluster.jobs.edited import is_edited
from webhook.cluster.jobs.managed import IS_GROUP
from webhook.cluster.jobs.steps import DIGEST, RENEWED
from webhook.jobs.read_job import QUEUE, read_job
from webhook.kube.conditions import find
from webhook.kube.gvk import POD
from webhook.store.memory import MemoryStore
from webhook.store.objects import copy_json, merge


def bigger(workload):
    """Its pod sets with more in each pod."""
    sets = copy_json(workload["spec"]["podSets"])
    sets[0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "64"
    return {"podSets": sets}


@pytest.mark.parametrize("edit", [lambda _: {"queueName": "other"}, bigger], ids=["queue", "pods"])
def test_an_edit_of_a_waiting_workload_is_set_right(edit):
    """It stays deactivated or active, as it was; and starts when its turn comes."""

    async def go():
        async with small_cluster(*queues("2"), OTHER_QUEUE, seconds=None) as w:
            await w.create(job("a", "2"))
            await w.until_runs("a")
            await w.create(job("b", "2"))
            before = await w.until_condition("b", "QuotaReserved", "False")
            change = {"spec": {**edit(before), "active": False}}
            edited = await w.store.patch(WORKLOAD, before["metadata"]["name"], "team-a", change)
            assert is_edited(before, edited)

            async def set_right():
                now = await w.workload("b")
                return not is_edited(before, now) and now

            right = await w.until(set_right, "it is as before")
            await w.store.patch(WORKLOAD, before["metadata"]["name"], "team-a", {"spec": {"active": True}})
            await w.kubelet.end("a")
            await w.until_runs("b")
            return before, right

    before, right = asyncio.run(go())
    assert right["spec"] == {**before["spec"], "active": False}


def test_an_edit_of_the_workload_of_a_stateful_set_is_set_right():
    """Its pods will be as many as it says, not as the edit does."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            [owner] = await w.create(stateful_set())
            name = name_of(owner)
            before = await until_workload(w, name, lambda o: find(o, "QuotaReserved"), "waits")
            sets = [{**before["spec"]["podSets"][0], "count": 3}]
            edited = await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"podSets": sets}})
            assert is_edited(before, edited)
            return before, await until_workload(w, name, lambda o: not is_edited(before, o), "is as before")

    before, right = asyncio.run(go())
    assert right["spec"] == before["spec"]


def test_the_workload_of_a_group_of_pods_waits_in_the_queue_of_its_pods():
    """An edit of it is set right, and it follows its pods when they name another queue."""

    async def go():
        async with small_cluster(*queues("1"), OTHER_QUEUE, seconds=None) as w:
            await w.create(member("a"), member("b"))
            await until_workload(w, "g", lambda o: find(o, "QuotaReserved"), "waits")
            edited = await w.store.patch(WORKLOAD, "g", "team-a", {"spec": {"queueName": "other"}})
            assert edited["spec"]["queueName"] == "other"
            await until_workload(w, "g", lambda o: o["spec"]["queueName"] == "main", "is back in its queue")
            for name in ("a", "b"):
                await w.store.patch(POD, name, "team-a", {"metadata": {"labels": {QUEUE: "other"}}})
            await until_workload(w, "g", lambda o: o["spec"]["queueName"] == "other", "has moved")

    asyncio.run(go())


def test_a_new_label_of_a_stateful_set_arrives():
    """While its group waits, its Workload is as it would be made now."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            [owner] = await w.create(stateful_set())
            name = name_of(owner)
            await until_workload(w, name, lambda o: find(o, "QuotaReserved"), "waits")
            await w.store.patch(STATEFUL_SET, "db", "team-a", {"metadata": {"labels": {"note": "x"}}})
            new = await until_workload(w, name, lambda o: o["metadata"]["labels"].get("note") == "x", "has the label")
            return new["metadata"]["annotations"][IS_GROUP]

    assert asyncio.run(go()) == "true"


class Pruning(MemoryStore):
    """Knows no image of a container in a Workload, as an older CRD does not know newer fields."""

    async def create(self, obj, **options):
        return await super().create(_pruned(obj), **options)

    async def update(self, obj, **options):
        return await super().update(_pruned(obj), **options)


def _pruned(obj):
    out = copy_json(obj)
    for pods in out["spec"]["podSets"] if out["kind"] == "Workload" else ():
        for container in pods["template"]["spec"]["containers"]:
            container.pop("image", None)
    return out


def test_what_the_api_server_does_not_keep_is_written_once():
    """An edit after that is noticed all the same; a Workload that Sluice did not make is left alone."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None, store=Pruning()) as w:
            await w.create(job("a", "2"))

            async def renewed():
                now = await w.workload("a")
                return now is not None and RENEWED in now["metadata"]["annotations"] and now

            there = await w.until(renewed, "it was written anew")
            made, drafts = await w.job("a"), Drafts(w.view, QueueSettings())
            later = merge(there, {"metadata": {"generation": 2}})
            others = merge(there, {"metadata": {"generation": 2, "annotations": {DIGEST: None}}})
            assert "image" not in there["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
            return [drafts.is_other(made, read_job(made), each) for each in (there, later, others)]

    assert asyncio.run(go()) == [False, True, False]


CONTAINER = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "resources": {"requests": {"cpu": "1500m"}}}
SPEC = {"containers": [CONTAINER], "nodeSelector": {"zone": "a"}, "restartPolicy": "Never", "hostNetwork": False}
DRAFT = {
    "spec": {
        "queueName": "main",
        "podSets": [{"name": "main", "count": 2, "template": {"metadata": {}, "spec": SPEC}}],
    }
}


def edited(**spec):
    """The draft with other fields in the spec of its pods; None takes one away."""
    [pods] = DRAFT["spec"]["podSets"]
    template = {**pods["template"], "spec": merge(SPEC, spec)}
    return {"spec": {**DRAFT["spec"], "podSets": [{**pods, "template": template}]}}


def of_container(**fields):
    return edited(containers=[merge(CONTAINER, fields)])


def of_pods(**fields):
    return {"spec": {**DRAFT["spec"], "podSets": [{**DRAFT["spec"]["podSets"][0], **fields}]}}


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(DRAFT, False, id="as it is"),
        pytest.param({"spec": {**DRAFT["spec"], "active": True, "priority": 5}}, False, id="more beside"),
        pytest.param(of_container(ports=[{"containerPort": 80, "protocol": "TCP"}]), False, id="a default of the CRD"),
        pytest.param(of_container(resources={"requests": {"cpu": 1.5}}), False, id="another notation"),
        pytest.param(of_container(resources={"limits": {}}), False, id="nothing more"),
        pytest.param(edited(hostNetwork=None), False, id="what a client in Go leaves out"),
        pytest.param(edited(initContainers=[]), False, id="an empty list"),
        pytest.param({"spec": {**DRAFT["spec"], "queueName": "other"}}, True, id="another queue"),
        pytest.param({"spec": {"podSets": DRAFT["spec"]["podSets"]}}, True, id="no queue"),
        pytest.param({"spec": {"queueName": "main"}}, True, id="no pods"),
        pytest.param(of_pods(count=3), True, id="more pods"),
        pytest.param(of_pods(minCount=1), True, id="admitted with fewer"),
        pytest.param(of_container(image="j"), True, id="another image"),
        pytest.param(of_container(resources={"requests": {"cpu": "1"}}), True, id="a smaller request"),
        pytest.param(of_container(resources={"requests": {"gpu": "1"}}), True, id="a request more"),
        pytest.param(of_container(resources={"requests": None}), True, id="no requests"),
        pytest.param(of_container(resources={"limits": {"cpu": "2"}}), True, id="a limit"),
        pytest.param(edited(containers=[CONTAINER, CONTAINER]), True, id="a container more"),
        pytest.param(edited(initContainers=[CONTAINER]), True, id="an init container"),
        pytest.param(edited(resources={"requests": {"cpu": "9"}}), True, id="a request of the pod"),
        pytest.param(edited(tolerations=[{"operator": "Exists"}]), True, id="a toleration"),
        pytest.param(edited(nodeSelector=None), True, id="any node"),
        pytest.param(edited(nodeSelector={"zone": "b"}), True, id="another node"),
        pytest.param(edited(hostNetwork=True), True, id="a flag"),
    ],
)
def test_what_counts_as_an_edit(workload, expected):
    """What the draft says must be there; requests, tolerations and init containers, and no more."""
    assert is_edited(DRAFT, workload) is expected
