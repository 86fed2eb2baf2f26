"""Some days of jobs through the store in memory and the real controller, in virtual time; what the judge would say."""

import asyncio

import pytest

from tests.bench.year.__main__ import judged
from tests.bench.year.judge import Judge
from tests.bench.year.load import DAY, Load, from_files, synthetic
from tests.bench.year.run import SAMPLES, live
from tests.bench.year.virtual_time import VirtualLoop
from webhook.offline.plan.rule_sets import rules_of
from webhook.simulate.trace import Arrival
from webhook.store.memory import MemoryStore

QUEUE = {
    "kind": "ClusterQueue",
    "metadata": {"name": "cq"},
    "spec": {
        "resourceGroups": [
            {"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "2", "borrowingLimit": "0"}]}]}
        ]
    },
}


def test_every_job_of_a_short_year_ends(capsys):
    """Jobs wait, are preempted, run and go; nothing is lost or left, no quota is passed. Memory is a longer run's."""
    load = synthetic(120, 2)
    year = live(load, rules_of(["kueue"]))
    assert (year.lost, year.judge.broken) == ([], [])
    assert year.judge.ended.total() == load.count
    assert sum(month.evicted for month in year.months) > 0
    assert len(year.months) == SAMPLES
    judged(year, load)
    assert "ok      nothing is lost: " in capsys.readouterr().out


def test_what_can_never_start_is_lost():
    """A job for which there is no quota waits to the end, and is named."""
    load = synthetic(30, 1)
    too_large = Arrival(0, 1000, "default", load.arrivals[0].queue, "too-large", {"cpu": 10**6})
    year = live(Load(load.objects, [too_large, *load.arrivals], load.days), rules_of(["kueue"]))
    assert year.lost[0] == "default/too-large did not end"


def test_a_trace_is_repeated_until_the_time_is_over(tmp_path):
    """A trace of two days fills five; later turns have names of their own."""
    (tmp_path / "t.jsonl").write_text(
        '{"time": 0, "queue": "q", "run": 60, "requests": {"cpu": "1"}}\n'
        '{"time": "2d", "queue": "q", "run": 60, "requests": {"cpu": "1"}}\n'
    )
    load = from_files(tmp_path / "t.jsonl", [], 5)
    assert [(arrival.at // DAY, arrival.name) for arrival in load.jobs()] == [
        (0, "job-1"), (2, "job-2"), (2, "job-1-1"), (4, "job-2-1"), (4, "job-1-2")]  # fmt: skip


def holding(name, cpu):
    """A Workload with quota."""
    assigned = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}}
    return {
        "metadata": {"name": name, "uid": name},
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [assigned]},
        },
    }


def test_the_judge_sees_what_is_above_the_quota():
    """Two workloads of 1.5 CPUs in a queue of two."""
    judge = Judge(MemoryStore(), [QUEUE])
    judge._workload(holding("a", "1500m"), gone=False)
    assert judge.broken == []
    judge._workload(holding("b", "1500m"), gone=False)
    assert judge.broken[0] == "cq holds 3000 cpu of 2000 since b has quota"
    judge._workload(holding("a", "1500m"), gone=True)
    assert judge._held["cq", "f", "cpu"] == 1500


def test_a_timer_runs_late_in_a_year():
    """Half a year on, floats are coarser than a nanosecond."""
    loop = VirtualLoop()
    loop.now = 300.0 * 86_400
    try:
        loop.run_until_complete(asyncio.sleep(1))
    finally:
        loop.close()
    assert loop.time() == 300 * 86_400 + 1


def test_a_loop_with_nothing_to_come_says_so():
    """Waiting for what nothing will do is an error, not a hang."""
    loop = VirtualLoop()
    try:
        with pytest.raises(RuntimeError, match="nothing would ever happen again"):
            loop.run_until_complete(loop.create_future())
    finally:
        loop.close()
