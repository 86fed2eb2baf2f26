"""Objects of odd types in the store: whoever cannot be read is left alone, and everybody else's work goes on."""

import asyncio

import pytest

from tests.cluster.small_cluster import job, queues, small_cluster
from tests.queue.python_rules import KueueRules
from webhook.cluster.api.event_recorder import EVENT
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.cluster.core.queue_core import QueueCore
from webhook.kube.conditions import holds
from webhook.kube.gvk import GroupVersionKind
from webhook.queue.explain import pending
from webhook.store.objects import merge

LABELS = {"kueue.x-k8s.io/queue-name": "main"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ODD = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ["a"], "operator": "Exists"}]}]}
WORKER = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def pytorch(name, template, **status):
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "team-a", "labels": LABELS},
        "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": {"template": template}}},
        **status,
    }


@pytest.mark.parametrize(
    "bad",
    [
        pytorch("bad", {"spec": {"containers": "none"}}),
        pytorch("bad", {"spec": {"containers": [7]}}),
        pytorch("bad", {"spec": 3, "metadata": "x"}),
        pytorch("bad", {"spec": {"containers": [{"resources": {"requests": {"cpu": "a lot"}}}]}}),
        pytorch("bad", merge(WORKER, {"spec": {"nodeSelector": {"pool": ["a"]}}})),
        pytorch("bad", merge(WORKER, {"spec": {"tolerations": [{"key": {"a": "b"}}]}})),
        pytorch("bad", merge(WORKER, {"spec": {"affinity": {"nodeAffinity": {REQUIRED: ODD}}}})),
        pytorch("bad", WORKER, status="Running"),
        pytorch("bad", WORKER, status={"conditions": {"a": 1}, "startTime": []}),
    ],
)
def test_a_malformed_job_does_not_stop_the_others(bad, caplog):
    """A custom job that no pod can be made of is let be; a job behind it is admitted without a new start."""

    async def go():
        async with small_cluster(*queues("2"), bad) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Admitted")
            gvk = GroupVersionKind("kubeflow.org", "v1", "PyTorchJob")
            return (await w.store.get(gvk, "bad", "team-a"))["spec"]["runPolicy"]

    assert asyncio.run(go())["suspend"] in (True, False)
    assert "the controller restarts" not in caplog.text


def test_a_job_of_which_no_workload_can_be_made_is_told_so(caplog):
    """By an Event; what failed is no bug of ours, of which the log would have the whole way for ever."""

    async def go():
        async with small_cluster(*queues("2"), pytorch("bad", {"spec": {"containers": "none"}})) as w:

            async def told():
                return [e for e in (await w.store.list(EVENT)).items if e["involvedObject"]["name"] == "bad"]

            return await w.until(told, "an Event tells of the job")

    (event,) = asyncio.run(go())
    assert event["reason"] == "ErrWorkloadCompose"
    assert event["message"].startswith("the job cannot be read: ")
    assert not [record for record in caplog.records if record.exc_info]


def test_a_malformed_workload_or_queue_does_not_stop_the_others(caplog):
    """A Workload that cannot be read waits, with why; a queue that cannot be read stays as it was; both are logged."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("a"))
            found = await w.until_condition("a", "Admitted")
            template = {"spec": {"containers": 5}}
            broken = {"podSets": [{"name": "main", "template": template}], "queueName": "main"}
            head = {"apiVersion": found["apiVersion"], "kind": "Workload"}
            await w.create({**head, "metadata": {"name": "odd", "namespace": "team-a"}, "spec": broken})
            await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": {"resourceGroups": [{"flavors": 7}]}})
            await w.create(job("b"))
            await w.until_condition("b", "Admitted")
            return [x["metadata"]["name"] for x in (await w.store.list(LOCAL_QUEUE)).items]

    assert asyncio.run(go()) == ["main"]
    told = [record.getMessage() for record in caplog.records if "malformed" in record.getMessage()]
    assert any("Workload team-a/odd" in text for text in told)
    assert any("ClusterQueue cq" in text for text in told)


def test_quota_that_a_malformed_workload_holds_counts():
    """Its pod sets cannot be read, its admission can: nobody else gets what it holds."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(job("a"))
            found = await w.until_condition("a", "Admitted")
            spec = {"podSets": [{"name": "main", "template": {"spec": {"containers": 5}}}]}
            held = merge(found, {"spec": spec, "metadata": {"name": "held", "ownerReferences": None}})
            return [*queues("1"), held], job("b")

    objects, _ = asyncio.run(go())
    core = QueueCore(KueueRules())
    waits = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "b", "namespace": "team-a", "uid": "u"},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": WORKER}]},
    }
    for obj in [*objects, waits]:
        core.heard(None, obj)
    made = core.decide(0)
    assert holds(objects[-1], "QuotaReserved")
    assert made.admitted == ()
    assert [p.workload for p in pending(core.state)] == ["team-a/b"]
    assert WORKLOAD.kind == "Workload"
