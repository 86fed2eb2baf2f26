"""Pods that have ended need no quota again: what a Workload says of them follows its job while it waits, too."""

import asyncio

import pytest

from tests.cluster.jobs.test_pods import pod
from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.jobs.reclaim import to_reclaim
from webhook.cluster.jobs.steps import Differences, JobStep, next_step
from webhook.jobs.elastic import ELASTIC
from webhook.jobs.read_job import read_job
from webhook.store.objects import merge

IN_PART = {"kueue.x-k8s.io/job-min-parallelism": "2"}


def test_a_waiting_job_asks_only_for_the_pods_that_are_left():
    """Three of four pods ended while they were stopped: one CPU is free, and the last one starts on it."""

    async def go():
        async with small_cluster(*queues("4"), seconds=None) as w:
            await w.create(job("a", parallelism=4, completions=4))
            await w.until_runs("a")
            name = (await w.workload("a"))["metadata"]["name"]
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            await w.until_waits("a", "Deactivated")
            await w.create(job("b", "3"))
            await w.until_runs("b")
            await w.store.patch(JOB, "a", "team-a", {"status": {"succeeded": 3}}, subresource="status")

            async def told():
                return (await w.workload("a"))["status"].get("reclaimablePods")

            rows = await w.until(told, "the Workload says which pods have ended")
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": True}})
            await w.until_runs("a")
            return rows

    assert asyncio.run(go()) == [{"name": "main", "count": 3}]


def ended(succeeded, parallelism=4, **annotations):
    """A Job of which some pods have succeeded."""
    made = job("a", parallelism=parallelism, completions=4)
    return merge(made, {"metadata": {"annotations": annotations}, "status": {"succeeded": succeeded}})


def elastic(succeeded):
    return ended(succeeded, **{ELASTIC: "true"})


def workload(count=4, told=0, *conditions):
    rows = [{"type": name, "status": "True"} for name in conditions]
    reclaimable = {"reclaimablePods": [{"name": "main", "count": told}]} if told else {}
    return {"spec": {"podSets": [{"name": "main", "count": count}]}, "status": {"conditions": rows, **reclaimable}}


@pytest.mark.parametrize(
    ("made", "there", "expected"),
    [
        pytest.param(ended(3), workload(), {"main": 3}, id="it waits"),
        pytest.param(ended(3), workload(2), {"main": 1}, id="it grew, and one of two is left"),
        pytest.param(ended(2), workload(2), {}, id="it grew, and both are left"),
        pytest.param(elastic(2), workload(2, 0, "QuotaReserved"), {}, id="it waits to grow, and both of two run"),
        pytest.param(ended(0), workload(4, 2), {}, id="it began anew"),
        pytest.param(ended(3, 2, **IN_PART), workload(4, 3, "QuotaReserved"), {"main": 3}, id="two of four run"),
        pytest.param(ended(0), workload(4, 2, "QuotaReserved"), {}, id="it began anew, and runs"),
    ],
)
def test_what_a_job_gives_back(made, there, expected):
    """Of four pods; a job that was admitted with fewer counts by those, and takes nothing back."""
    assert to_reclaim(made, read_job(made), there) == expected


def test_what_others_say_of_a_pod_stays():
    """It gives nothing back by itself."""
    assert to_reclaim(pod("a"), read_job(pod("a")), workload(1, 1)) == {"main": 1}


def test_a_waiting_job_that_was_edited_is_written_before_what_it_gives_back():
    """As Kueue does: the Workload may not say that more pods have ended than it has."""
    made = ended(3)
    both = Differences(spec=True, reclaimable=True)
    assert next_step(made, read_job(made), workload(), both) is JobStep.RENEW
    assert next_step(made, read_job(made), workload(), Differences(reclaimable=True)) is JobStep.RECLAIM
