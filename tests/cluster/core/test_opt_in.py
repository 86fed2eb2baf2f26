"""A Workload of a job in a namespace that has not opted in waits, and says what to do: nobody would start the job."""

import asyncio

import pytest

from tests.cluster.small_cluster import below, job, queues, small_cluster
from tests.queue.python_rules import KueueRules
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.core.opt_in import left_alone
from webhook.cluster.core.queue_core import QueueCore
from webhook.kube.gvk import NAMESPACE
from webhook.kube.selectors import compile_selector
from webhook.store.memory import MemoryStore

LABEL = {"sluice.dev/managed": "true"}


def of_kueue(owner):
    """The Workload of a job as a Kueue left it."""
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    spec = {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]}
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}
    return below(owner, {**head, "metadata": {"name": "job-old-1", "namespace": "team-a"}, "spec": spec})


def test_it_waits_until_its_namespace_opts_in():
    """The quota is free for others meanwhile; with the label it is admitted, and its job starts."""

    async def go():
        store = MemoryStore()
        core = QueueCore(KueueRules(), left_alone=left_alone(LABEL, None))
        opted = compile_selector({"matchLabels": LABEL})
        (owner,) = [await store.create(job("old"))]
        await store.create(of_kueue(owner))
        async with small_cluster(*queues("1"), store=store, core=core, opted=opted, seconds=None) as w:
            told = await w.until_waits("old", "Misconfigured")
            await store.patch(NAMESPACE, "team-a", "", {"metadata": {"labels": LABEL}})
            await w.until_condition("old", "Admitted")
            await w.until_runs("old")
            return told

    assert asyncio.run(go()) == (
        "namespace team-a is not managed by Sluice; add the label sluice.dev/managed=true to the namespace"
    )


def test_one_that_runs_keeps_its_quota():
    """What Kueue admitted before counts, whether its namespace has opted in or not."""
    core = QueueCore(KueueRules(), left_alone=left_alone(LABEL, None))
    owner = {**job("old"), "metadata": {**job("old")["metadata"], "uid": "1"}}
    pods = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    rows = [{"type": t, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"} for t in ("QuotaReserved",)]
    status = {"conditions": rows, "admission": {"clusterQueue": "cq", "podSetAssignments": [pods]}}
    by_hand = of_kueue(owner)
    del by_hand["metadata"]["ownerReferences"]
    for obj in [*queues("1"), {**of_kueue(owner), "status": status},
                {**by_hand, "metadata": {**by_hand["metadata"], "name": "by-hand"}}]:  # fmt: skip
        core.heard(None, obj)
    made = core.decide(0)
    assert [a.workload for a in (*made.admitted, *made.evicted)] == []
    assert core.explain("team-a/by-hand").reason == "WaitingForQuota"


@pytest.mark.parametrize(
    ("labels", "settings", "expected"),
    [
        (LABEL, None, ""),
        ({}, None, "namespace n is not managed by Sluice; add the label sluice.dev/managed=true to the namespace"),
        (LABEL, QueueSettings(managed_jobs_namespace_selector={"matchLabels": {"team": "a"}}),
         "namespace n is not selected by managedJobsNamespaceSelector; change its labels or the setting"),
        (LABEL | {"team": "a"}, QueueSettings(managed_jobs_namespace_selector={"matchLabels": {"team": "a"}}), ""),
        (LABEL, QueueSettings(left_out=("n",)), "namespace n is excluded by the setting `never`"),
        (LABEL, QueueSettings(left_out=("m",)), ""),
    ],
)  # fmt: skip
def test_why(labels, settings, expected):
    """By the labels of the namespace, and by the settings."""
    assert left_alone(LABEL, settings)("n", labels) == expected
