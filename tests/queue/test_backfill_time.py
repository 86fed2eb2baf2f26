"""`backfill` holds quota for a big job until it runs; `backfill-time` lets short work use it until then."""

from __future__ import annotations

import pytest

from tests.queue.build import NS, job, names, queue, running, state
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.events import WorkloadChanged, WorkloadGone
from webhook.queue.model import ClusterQueue, Quota, Workload
from webhook.queue.rules import Rules
from webhook.queue.state import State

HOUR = 3_600_000
HELD, TIMED = (rules_named(["kueue", name], {"resource": "gpu", "big": 8}) for name in ("backfill", "backfill-time"))


def waiting(*work: Workload, run_time: int | None = HOUR) -> State:
    """A big job that lacks four of eight units, which `old` gives back after its run time."""
    old = running("old", "a", 4, run_time=run_time)
    return state([queue("a", 8, "co"), queue("b", 0, "co")], [old, job("big", "a", 8, queued_at=1), *work])


@pytest.mark.parametrize("rules", [HELD, TIMED], ids=["backfill", "backfill-time"])
@pytest.mark.parametrize("line", ["a", "b"])
def test_what_a_big_job_holds_is_kept_until_it_runs(rules: Rules, line: str) -> None:
    """Over many decisions, against whom is urgent in another queue too; then it starts."""
    core = waiting(job("long", line, 4, priority=0 if line == "a" else 9, queued_at=2, run_time=2 * HOUR))
    for now in range(3):
        assert names(decide(core, rules, now)) == []
        core.apply(WorkloadChanged(job(f"more{now}", line, 2, queued_at=3 + now)))
    core.apply(WorkloadGone(f"{NS}/old"))
    assert names(decide(core, rules, 4))[0] == "big"


@pytest.mark.parametrize("rules", [HELD, TIMED], ids=["backfill", "backfill-time"])
def test_a_big_job_that_would_borrow_holds_no_quota_of_other_queues(rules: Rules) -> None:
    """It asks for all of its queue's quota while half of it is in use: the half that is free is what it holds."""
    held = [running("own", "a", 4), running("theirs", "b", 6)]
    waits = [job("big", "a", 8, queued_at=1), job("theirs-2", "b", 2, queued_at=2), job("more", "b", 1, queued_at=3)]
    assert names(decide(state([queue("a", 8, "co"), queue("b", 8, "co")], held + waits), rules, 0)) == ["theirs-2"]


@pytest.mark.parametrize("line", ["a", "b"])
@pytest.mark.parametrize(("run_time", "starts"), [(HOUR // 2, True), (HOUR // 2 + 1, False), (None, False)])
def test_a_job_that_ends_before_the_big_one_begins_may_start(line: str, run_time: int | None, starts: bool) -> None:
    """At half past, half an hour is left; who runs longer, or does not say how long, waits."""
    core = waiting(job("small", line, 4, queued_at=2, run_time=run_time))
    assert names(decide(core, TIMED, HOUR // 2)) == (["small"] if starts else [])
    assert names(decide(waiting(job("small", line, 4, queued_at=2, run_time=1)), HELD, HOUR // 2)) == []


def test_where_nobody_knows_when_it_begins_nobody_may() -> None:
    """What runs before it does not say how long."""
    core = waiting(job("small", "a", 4, queued_at=2, run_time=1), run_time=None)
    assert names(decide(core, TIMED, 0)) == []


@pytest.mark.parametrize("other", [queue("b", Quota(4, lending_limit=0), "co"), queue("b", 4)], ids=["lends", "apart"])
def test_what_other_queues_never_lend_does_not_bring_the_start_nearer(other: ClusterQueue) -> None:
    """A job that ends soon in a queue that lends nothing frees nothing for the big one, which begins in an hour."""
    soon, old = running("soon", "b", 4, run_time=1000), running("old", "a", 4, run_time=HOUR)
    waits = [job("big", "a", 8, queued_at=1), job("small", "a", 4, queued_at=2, run_time=HOUR // 2)]
    assert names(decide(state([queue("a", 8, "co"), other], [soon, old, *waits]), TIMED, 0)) == ["small"]


def test_a_queue_at_its_borrowing_limit_gets_nothing_from_what_others_free() -> None:
    """The big one may not borrow, so it waits for its own queue's job."""
    soon, old = running("soon", "b", 4, run_time=1000), running("old", "a", 4, run_time=HOUR)
    waits = [job("big", "a", 8, queued_at=1), job("small", "a", 4, queued_at=2, run_time=HOUR // 2)]
    queues = [queue("a", Quota(8, borrowing_limit=0), "co"), queue("b", 4, "co")]
    assert names(decide(state(queues, [soon, old, *waits]), TIMED, 0)) == ["small"]


def test_short_work_beside_other_short_work_stays_within_what_is_free() -> None:
    """What is held is lent once: the second finds nothing."""
    core = waiting(*(job(f"s{i}", "a", 3, queued_at=2 + i, run_time=1000) for i in range(3)))
    assert names(decide(core, TIMED, 0)) == ["s0"]
    assert core.trees[0].usage[0] == 7
