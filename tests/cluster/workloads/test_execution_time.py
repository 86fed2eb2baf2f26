"""A job that was admitted for its maximum execution time: stopped, deactivated, and its time kept over evictions."""

import asyncio

from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.cluster.workloads import conditions as workload_conditions
from webhook.kube.conditions import find
from webhook.store.objects import merge

LABEL = "kueue.x-k8s.io/max-exec-time-seconds"


def workload(*conditions, **fields):
    rows = [{"type": t, "status": "True", "reason": r, "lastTransitionTime": at} for t, r, at in conditions]
    spec = {"maximumExecutionTimeSeconds": 60}
    return {"metadata": {"generation": 1}, "spec": spec, "status": {"conditions": rows, **fields}}


def test_a_job_is_stopped_when_its_time_is_over():
    """One second is allowed: the job is suspended, its Workload inactive with the reason, its quota the next one's."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(merge(job("a"), {"metadata": {"labels": {LABEL: "1"}}}), job("b"))
            await w.until_condition("a", "Evicted")
            await w.until_condition("b", "Admitted")
            await w.until_condition("a", "Requeued", "False")
            return await w.job("a"), await w.workload("a")

    stopped, found = asyncio.run(go())
    assert stopped["spec"]["suspend"] is True
    assert found["spec"]["active"] is False
    assert find(found, "Evicted")["reason"] == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert "exceeding the maximum execution time" in find(found, "Evicted")["message"]
    assert "accumulatedPastExecutionTimeSeconds" not in found["status"]


def test_time_of_earlier_admissions_is_kept():
    """An eviction adds the seconds since the admission; running out of time begins anew."""
    admitted = ("Admitted", "Admitted", "2026-01-01T00:00:00Z")
    evicted = ("Evicted", "Preempted", "2026-01-01T00:00:30Z")
    past = workload(admitted, evicted, accumulatedPastExecutionTimeSeconds=7)
    out = workload_conditions.released(past, "2026-01-01T00:00:31Z")
    assert out["accumulatedPastExecutionTimeSeconds"] == 38
    over = ("Evicted", "DeactivatedDueToMaximumExecutionTimeExceeded", "2026-01-01T00:01:00Z")
    out = workload_conditions.released(
        workload(admitted, over, accumulatedPastExecutionTimeSeconds=7), "2026-01-01T00:01:01Z"
    )
    assert out["accumulatedPastExecutionTimeSeconds"] is None


def test_requeued_tells_whether_it_waits_again():
    """After a preemption it does; after its queue was stopped it does not, until it gets quota again."""
    preempted = workload_conditions.released(
        workload(("Evicted", "Preempted", "2026-01-01T00:00:30Z")), "2026-01-01T00:00:31Z"
    )
    assert find({"status": preempted}, "Requeued")["status"] == "True"
    stopped = workload(("Evicted", "ClusterQueueStopped", "2026-01-01T00:00:30Z"))
    row = find({"status": workload_conditions.released(stopped, "2026-01-01T00:00:31Z")}, "Requeued")
    assert (row["status"], row["reason"]) == ("False", "ClusterQueueStopped")
