"""Admitted jobs whose pods do not become ready: the condition, the eviction, the back-off, and the end of all tries."""

import asyncio

from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.api.configuration.sections import QueueSettings, RequeuingStrategy, WaitForPodsReady
from webhook.cluster.core.queue_core import QueueCore
from webhook.kube.conditions import find, holds
from webhook.policy.queue_rules.configured import configured
from webhook.policy.queue_rules.files import rules_configured


def waiting(timeout, *, block=False, limit=None):
    """Settings that wait `timeout` milliseconds for pods, and a second before the next try."""
    again = RequeuingStrategy(backoff_base_seconds=1, backoff_limit_count=limit)
    settings = QueueSettings(wait_for_pods_ready=WaitForPodsReady(timeout, block, None, again))
    return {"settings": settings, "core": QueueCore(rules_configured((), configured(settings)), settings=settings)}


async def ready(w, name, count):
    await w.kubelet.status("team-a", name, ready=count)


def test_the_condition_says_what_pods_do():
    """Not ready while it waits and starts, ready, lost, and recovered."""

    async def go():
        seen = []
        async with small_cluster(*queues("1"), seconds=None, **waiting(600_000)) as w:
            await w.create(job("a"))
            for count, status in ((0, "False"), (1, "True"), (0, "False"), (1, "True")):
                await w.until_runs("a")
                await ready(w, "a", count)
                found = await w.until_condition("a", "PodsReady", status)
                seen.append(find(found, "PodsReady")["reason"])
        return seen

    assert asyncio.run(go()) == ["WaitForStart", "Started", "WaitForRecovery", "Recovered"]


def test_a_job_without_ready_pods_is_put_back_and_then_ended():
    """It is evicted, counted, tried again after the back-off; after the last try it is inactive, its count gone."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None, **waiting(1000, limit=1)) as w:
            await w.create(job("a"))
            first = await w.until_condition("a", "Evicted")
            await w.until_condition("a", "Requeued", "False")
            back = await w.until_condition("a", "Requeued")
            await w.until_condition("a", "Admitted")

            async def ended():
                found = await w.workload("a")
                return found["spec"].get("active") is False and holds(found, "Evicted")

            await w.until(ended, "a is inactive")
            return first, back, await w.workload("a")

    first, back, last = asyncio.run(go())
    row = find(first, "Evicted")
    assert row["reason"] == "PodsReadyTimeout"
    assert row["message"] == f"Exceeded the PodsReady timeout team-a/{first['metadata']['name']}"
    assert first["status"]["requeueState"]["count"] == 1
    assert first["status"]["requeueState"]["requeueAt"]
    assert back["status"]["requeueState"] == {"count": 1}
    assert find(back, "Requeued")["reason"] == "BackoffFinished"
    assert find(last, "Evicted")["reason"] == "DeactivatedDueToRequeuingLimitExceeded"
    assert "exceeding the maximum number of re-queuing retries" in find(last, "Evicted")["message"]
    assert "requeueState" not in last["status"]


def test_the_next_one_starts_when_the_first_is_ready():
    """With blockAdmission quota alone is not enough."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None, **waiting(600_000, block=True)) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await w.create(job("b"))
            told = await w.until_condition("b", "QuotaReserved", "False")

            async def waits():
                nonlocal told
                told = await w.workload("b")
                return (find(told, "QuotaReserved") or {}).get("reason") == "WaitingForPodsReady"

            await w.until(waits, "b waits for the pods of a")
            await ready(w, "a", 1)
            await w.until_condition("b", "Admitted")
            return find(told, "QuotaReserved")["message"]

    assert asyncio.run(go()) == "waiting for all admitted workloads to be in PodsReady condition"
