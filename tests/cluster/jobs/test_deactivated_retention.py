"""Jobs that the queue gave up are deleted after a while, where the settings say so."""

import asyncio

import pytest

from tests.cluster.jobs.test_pod_groups import member, until_workload
from tests.cluster.jobs.test_pods import gone
from tests.cluster.small_cluster import in_virtual_time, job, queues, small_cluster
from tests.cluster.workloads.test_admission_checks import checked
from webhook.api.configuration.sections import QueueSettings, Retention
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.jobs.deactivated_retention import kept_for
from webhook.kube.conditions import holds
from webhook.store.errors import NotFound
from webhook.store.objects import merge

LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"
AT_ONCE = QueueSettings(retention=Retention(after_deactivated=0))
OVERTIME = "DeactivatedDueToMaximumExecutionTimeExceeded"


def test_a_job_whose_time_is_over_is_deleted(monkeypatch):
    """Its Workload goes with it. Its second is one of virtual time, in which any machine has started it before."""

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=AT_ONCE) as w:
            await w.create(merge(job("a"), {"metadata": {"labels": {LIMIT: "1"}}}))

            async def gone():
                try:
                    await w.job("a")
                except NotFound:
                    return await w.workload("a") is None
                return False

            await w.until(gone, "a is deleted, and its Workload")
            return w.kubelet.starts

    assert in_virtual_time(monkeypatch, go) == ["a"]


def test_the_pods_of_a_group_that_a_check_refuses_are_deleted():
    """All of them: they hold a place in its name, and would wait without end."""

    async def go():
        async with small_cluster(*checked({"name": "one"}, cpu="2"), seconds=None, settings=AT_ONCE) as w:
            await w.create(member("a"), member("b"))
            made = await until_workload(w, lambda o: holds(o, "QuotaReserved"), "has quota")
            (row,) = made["status"]["admissionChecks"]
            refused = {"status": {"admissionChecks": [{**row, "state": "Rejected", "message": "no"}]}}
            await w.store.patch(WORKLOAD, "g", "team-a", refused, subresource="status")
            await gone(w, "a")
            await gone(w, "b")

    asyncio.run(go())


@pytest.mark.parametrize(
    ("active", "reason", "retention", "left"),
    [
        (False, OVERTIME, 60_000, 50.0),
        (False, OVERTIME, 10_000, 0),
        (False, OVERTIME, None, None),
        (False, "Deactivated", 0, None),
        (True, OVERTIME, 0, None),
    ],
    ids=["not yet", "now", "not asked for", "by a person", "active again"],
)
def test_only_what_the_queue_gave_up_is_deleted(active, reason, retention, left):
    """Ten seconds after it was evicted."""
    row = {"type": "Evicted", "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    workload = {"spec": {"active": active}, "status": {"conditions": [row]}}
    assert kept_for(workload, retention, "2026-01-01T00:00:10Z") == left


def test_the_job_of_a_workload_that_has_ended_stays():
    rows = [{"type": "Evicted", "status": "True", "reason": OVERTIME}, {"type": "Finished", "status": "True"}]
    assert kept_for({"spec": {"active": False}, "status": {"conditions": rows}}, 0, "2026-01-01T00:00:10Z") is None
