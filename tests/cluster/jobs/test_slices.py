"""The next step of an elastic job, as a table: a pure function of the job and its Workloads."""

import pytest

from tests.cluster.jobs.test_elastic import UNGATED, ray_cluster
from webhook.cluster.api.finalizers import FINALIZER
from webhook.cluster.jobs.slices import is_grown_ungated, slice_step
from webhook.cluster.jobs.steps import Differences, JobStep
from webhook.jobs.read_job import read_job
from webhook.store.objects import merge


def of_size(name="first", *true, **pods):
    """A Workload of the job with so many pods of each set."""
    rows = [{"type": type_, "status": "True"} for type_ in true]
    sets = [{"name": each, "count": count} for each, count in pods.items()]
    return {
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"podSets": sets},
        "status": {"conditions": rows},
    }


HELD = of_size("first", "QuotaReserved", "Admitted", head=1, x=1)


EVICTED = of_size("first", "QuotaReserved", "Evicted", head=1, x=1)


def leaving(workload, finalizer=FINALIZER):
    """The Workload, which somebody has deleted."""
    return merge(workload, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]}})


@pytest.mark.parametrize(
    ("wanted", "live", "step", "about"),
    [
        pytest.param({"x": 2}, [HELD], "GROW", "first", id="it grew"),
        pytest.param({"x": 1, "y": 2}, [HELD], "GROW", "first", id="it has another group"),
        pytest.param({"x": 1, "y": 0}, [HELD], "NONE", "first", id="the other group has no pods"),
        pytest.param({}, [HELD], "RESIZE", "first", id="its group is gone"),
        pytest.param({}, [of_size("first", "QuotaReserved", "Admitted", head=1, x=0)], "NONE", "first",
                     id="and gives its quota back once"),
        pytest.param({"x": 3}, [HELD, of_size("heir", head=1, x=2)], "RESIZE", "heir", id="it grew twice"),
        pytest.param({"x": 2, "y": 0}, [HELD, of_size("heir", head=1, x=2)], "NONE", "first",
                     id="it grew, and has a group without pods"),
        pytest.param({"x": 2, "y": 1}, [HELD, of_size("heir", head=1, x=2)], "OBSOLETE", "heir",
                     id="it grew, and has another group then"),
        pytest.param({"x": 1}, [HELD, of_size("heir", head=1, x=2)], "OBSOLETE", "heir", id="it shrank again"),
        pytest.param({"x": 2}, [HELD, leaving(of_size("heir", head=1, x=2))], "LET_GO", "heir",
                     id="somebody deleted the second"),
        pytest.param({"x": 2}, [HELD, leaving(of_size("heir", head=1, x=2), "example.com/other")], "NONE", "first",
                     id="which another keeps"),
        pytest.param({"x": 2}, [EVICTED, leaving(of_size("heir", head=1, x=2), "example.com/other")], "RELEASE",
                     "first", id="and does not replace the first"),
        pytest.param({"x": 2}, [HELD, of_size("heir", "QuotaReserved", "Evicted", head=1, x=2)], "WITHDRAW", "heir",
                     id="the second was evicted while it waited for its checks"),
        pytest.param({"x": 1}, [HELD, of_size("heir", "QuotaReserved", "Evicted", head=1, x=2)], "WITHDRAW", "heir",
                     id="also where it is not wanted any more"),
        pytest.param({"x": 2}, [HELD, of_size("heir", "QuotaReserved", "Admitted", "Evicted", head=1, x=2)], "STOP",
                     "heir", id="the second was evicted when its pods could run"),
        pytest.param({"x": 2}, [HELD, of_size("heir", "Evicted", head=1, x=2)], "NONE", "first",
                     id="the second has given its quota back"),
    ],
)  # fmt: skip
def test_the_next_step_of_an_elastic_job(wanted, live, step, about):
    """Which runs, unless it is evicted; its worker groups come and go."""
    runs = merge(ray_cluster(**wanted), {"spec": {"suspend": live[0] is EVICTED}})
    found, workload = slice_step(runs, read_job(runs), live, lambda _: Differences())
    assert (found, workload["metadata"]["name"]) == (JobStep[step], about)


@pytest.mark.parametrize(("reclaimable", "step"), [(True, "RECLAIM"), (False, "RESIZE")])
def test_what_pods_gave_back_is_told_before_the_size_is_less(reclaimable, step):
    """Of three pods two have ended, and the job has one now: counted by the old number, none would be left."""
    runs = ray_cluster(x=1)
    held = of_size("first", "QuotaReserved", "Admitted", head=1, x=3)
    found, _ = slice_step(runs, read_job(runs), [held], lambda _: Differences(reclaimable=reclaimable))
    assert found is JobStep[step]


@pytest.mark.parametrize(
    ("wanted", "grows", "outgrows"),
    [
        ({"x": 2}, ["x"], True),
        ({"x": 1, "y": 1}, ["y"], True),
        ({"x": 2, "y": 1}, ["y"], True),
        ({"x": 2}, [], False),
        ({"x": 1}, ["x"], False),
        ({}, ["x"], False),
    ],
    ids=["its group", "another group", "one of two", "all have the gate", "as many as before", "fewer"],
)
def test_only_pods_with_the_gate_may_be_added(wanted, grows, outgrows):
    """Others would run at once: a pod set without the gate has grown beyond its quota."""
    cluster = ray_cluster(**wanted)
    for group in cluster["spec"]["workerGroupSpecs"]:
        if group["groupName"] in grows:
            group["template"] = merge(group["template"], UNGATED["spec"]["template"])
    assert is_grown_ungated(read_job(cluster), HELD) is outgrows
