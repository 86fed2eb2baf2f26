"""What a cycle decides in small clusters that show one rule each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import FLAVOR, NS, give_back, group, job, names, queue, running, state
from tests.queue.living import rules_of
from tests.queue.python_rules import KueueRules
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.events import DefinitionChanged, WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.explain import explain, pending
from webhook.queue.model import (
    AdmissionCheck,
    AdmissionChecksStrategy,
    AdmissionCheckUse,
    Flavor,
    PodSet,
    Preemption,
    Quota,
    StopPolicy,
    Taint,
    Toleration,
)
from webhook.queue.report import Reporter
from webhook.queue.state import State

RULES = KueueRules()


class Counter(Reporter):
    """Counts how often each workload was looked at."""

    __slots__ = ("looked",)

    def __init__(self) -> None:
        self.looked: list[str] = []

    def considered(self, workload: str, cluster_queue: str) -> None:
        """Note the name."""
        self.looked.append(workload.partition("/")[2])


def test_best_effort_lets_small_work_pass_a_big_head() -> None:
    """Under BestEffortFIFO what fits goes on, though the head does not."""
    core = state([queue("a", 4)], [job("big", "a", 8, queued_at=1), job("small", "a", 2, queued_at=2)])
    assert names(decide(core, RULES, 0)) == ["small"]


def test_strict_lets_nobody_pass_the_head() -> None:
    """Under StrictFIFO all wait behind a head that does not fit, and say so."""
    work = [running("old", "a", 3), job("big", "a", 4, queued_at=1), job("small", "a", 1, queued_at=2)]
    core = state([queue("a", 4, queueing_strategy="StrictFIFO")], work)
    assert names(decide(core, RULES, 0)) == []
    told = {p.workload: p for p in pending(core)}
    assert told[f"{NS}/small"].reason == Reason.BEHIND_HEAD
    assert told[f"{NS}/big"].place == PendingPlace.ACTIVE
    core.apply(WorkloadGone(f"{NS}/old"))
    assert names(decide(core, RULES, 1)) == ["big"]


def test_a_gang_starts_as_a_whole_or_not_at_all() -> None:
    """Pod sets that fit one by one, but not together, leave all of them waiting and use nothing."""
    sets = (PodSet("driver", 1, {"gpu": 2}), PodSet("worker", 3, {"gpu": 1}))
    core = state([queue("a", 4)], [job("gang", "a", pod_sets=sets)])
    assert names(decide(core, RULES, 0)) == []
    assert core.trees[0].usage == [0]


def test_partial_admission_takes_the_largest_size_that_fits() -> None:
    """With a minimum of 2 pods, 3 of 5 start where 3 fit."""
    core = state([queue("a", 3)], [job("job", "a", pod_sets=(PodSet("main", 5, {"gpu": 1}, min_count=2),))])
    decisions = decide(core, RULES, 0)
    assert decisions.admitted[0].pod_sets[0].count == 3
    assert core.trees[0].usage == [3]


def test_taints_choose_the_flavor() -> None:
    """Work goes to the tainted flavor only where it tolerates the taint."""
    groups = (group(("spot", {"gpu": 4}), ("paid", {"gpu": 4})),)
    flavors = [Flavor("spot", node_taints=(Taint("spot"),)), Flavor("paid")]
    sets = (PodSet("main", 1, {"gpu": 1}, tolerations=(Toleration("spot", "Exists"),)),)
    core = state(
        [queue("a", resource_groups=groups)], [job("plain", "a"), job("ready", "a", pod_sets=sets)], flavors=flavors
    )
    chosen = {a.workload: a.pod_sets[0].flavors["gpu"] for a in decide(core, RULES, 0).admitted}
    assert chosen == {f"{NS}/plain": "paid", f"{NS}/ready": "spot"}


def test_a_preemptor_waits_until_its_victims_are_gone() -> None:
    """The victim keeps its usage until it gave it back; then the preemptor is admitted."""
    policy = Preemption("LowerPriority")
    core = state([queue("a", 4, preemption=policy)], [running("low", "a", 4), job("high", "a", 4, priority=5)])
    first = decide(core, RULES, 0)
    assert [(p.workload, p.preemptor) for p in first.preempted] == [(f"{NS}/low", f"{NS}/high")]
    assert core.trees[0].usage == [4]
    assert decide(core, RULES, 1).preempted == ()
    give_back(core, first)
    assert names(decide(core, RULES, 2)) == ["high"]


def test_borrowing_stays_within_the_limit() -> None:
    """A queue with a borrowing limit of 2 gets 6 of the 8 in its cohort."""
    queues = [queue("a", Quota(4, borrowing_limit=2), "team"), queue("b", 4, "team")]
    core = state(queues, [job(f"j{i}", "a", 1, queued_at=i) for i in range(8)])
    assert len(decide(core, RULES, 0).admitted) == 6


def test_checks_are_a_second_phase() -> None:
    """Quota is reserved at once; admitted is who has all checks ready."""
    checks = AdmissionChecksStrategy((AdmissionCheckUse("budget"),))
    core = state([queue("a", 4, admission_checks_strategy=checks)], [job("j", "a")])
    core.apply(DefinitionChanged(AdmissionCheck("budget")))
    first = decide(core, RULES, 0)
    assert [a.admitted for a in first.admitted] == [False]
    held = core.snapshot().workloads[0]
    core.apply(WorkloadChanged(replace(held, checks={"budget": "Ready"})))
    assert [a.workload for a in decide(core, RULES, 1).ready] == [f"{NS}/j"]


def test_hold_keeps_new_work_out_and_drain_sends_running_work_away() -> None:
    """A held queue admits nothing; a drained one evicts as well."""
    held = state([queue("a", stop_policy=StopPolicy.HOLD)], [running("r", "a"), job("j", "a")])
    decisions = decide(held, RULES, 0)
    assert (decisions.admitted, decisions.evicted) == ((), ())
    drained = state([queue("a", stop_policy=StopPolicy.DRAIN)], [running("r", "a"), job("j", "a")])
    assert [e.workload for e in decide(drained, RULES, 0).evicted] == [f"{NS}/r"]


def test_backoff_holds_an_evicted_workload_until_its_time() -> None:
    """It is not looked at before `requeue_at`, and the decision says when to come back."""
    core = state([queue("a")], [running("r", "a")])
    core.bind(RULES, 10)
    core.apply(WorkloadEvicted(f"{NS}/r", 10, requeue_at=500))
    early = decide(core, RULES, 20)
    assert (names(early), early.next_at) == ([], 500)
    assert names(decide(core, RULES, 500)) == ["r"]


def test_a_blocked_kind_is_looked_at_once() -> None:
    """Of 50 equal workloads that do not fit one is looked at, and none again until quota comes free."""
    core = state([queue("a", 4)], [running("r", "a", 3), *(job(f"j{i}", "a", 2) for i in range(50))])
    counter = Counter()
    decide(core, RULES, 0, counter)
    assert len(counter.looked) == 1
    core.apply(WorkloadChanged(job("more", "a", 2, queued_at=9)))
    decide(core, RULES, 1, counter)
    assert len(counter.looked) == 1
    core.apply(WorkloadGone(f"{NS}/r"))
    assert len(decide(core, RULES, 2, counter).admitted) == 2


def test_an_explanation_has_numbers_holders_and_a_start() -> None:
    """Asked, free, who must end first, position, and when that will be where run times are known."""
    work = [running("r", "a", 3, since=1000, run_time=5000), job("j", "a", 2)]
    core = state([queue("a", 4)], work)
    decide(core, RULES, 2000)
    told = explain(core, f"{NS}/j")
    assert told is not None
    (shortage,) = told.shortages
    assert (shortage.flavor, shortage.asked, shortage.free, shortage.nominal) == (FLAVOR, 2, 1, 4)
    assert [h.workload for h in shortage.holders] == [f"{NS}/r"]
    assert (told.position, told.start, told.reason) == (1, 6000, Reason.WAITING_FOR_QUOTA)


@pytest.mark.parametrize(
    ("mine", "other", "asked", "named"),
    [
        pytest.param(Quota(4), Quota(4, lending_limit=0), 3, ["mine"], id="the other queue lends nothing"),
        pytest.param(Quota(4, borrowing_limit=0), Quota(4), 3, ["mine"], id="the queue may borrow nothing"),
        pytest.param(Quota(4), Quota(4, lending_limit=1), 5, ["lent", "mine"], id="one of the other's four is lent"),
        pytest.param(Quota(4), Quota(4), 3, ["lent"], id="all is shared: the first by name"),
    ],
)
def test_only_who_frees_something_must_end_first(mine: Quota, other: Quota, asked: int, named: list[str]) -> None:
    """Quota that another queue does not lend, or that the queue may not borrow, is no help."""
    work = [running("lent", "b", 4), running("mine", "a", 4), job("j", "a", asked)]
    core = state([queue("a", mine, "all"), queue("b", other, "all")], work)
    decide(core, RULES, 0)
    (shortage,) = explain(core, f"{NS}/j").shortages  # type: ignore[union-attr]
    assert ([h.workload for h in shortage.holders], shortage.enough) == ([f"{NS}/{name}" for name in named], True)
    for name in named:
        core.apply(WorkloadGone(f"{NS}/{name}"))
    assert names(decide(core, RULES, 1)) == ["j"]


def test_a_request_beyond_all_quota_is_told_apart() -> None:
    """What can never fit says so, with the most the queue can have."""
    core = state([queue("a", 4)], [job("j", "a", 9)])
    decide(core, RULES, 0)
    told = explain(core, f"{NS}/j")
    assert told is not None
    assert (told.reason, told.shortages[0].most, told.place) == (Reason.EXCEEDS_MAX_QUOTA, 4, PendingPlace.INADMISSIBLE)


def test_a_budget_splits_a_call_and_loses_nothing() -> None:
    """With a budget of one head a call, repeated calls come to what one call decides."""
    queues = [queue("a", 2), queue("b", 2)]
    work = [job("a1", "a"), job("a2", "a"), job("b1", "b"), job("b2", "b")]
    split, found = state(queues, work), []
    for now in range(10):
        decisions = decide(split, RULES, now, budget=1)
        found += names(decisions)
    assert sorted(found) == sorted(names(decide(state(queues, work), RULES, 0)))


def test_a_budget_smaller_than_a_cohort_is_spent_on_heads_that_are_new() -> None:
    """Those that an earlier call looked at cost nothing again: nine queues with a budget of two take five calls."""
    core, calls = state([queue(f"q{i}", 1, "co") for i in range(9)], [job(f"j{i}", f"q{i}") for i in range(9)]), 1
    while not (made := decide(core, RULES, 0, budget=2)).admitted:
        calls += 1
    assert (calls, len(made.admitted)) == (5, 9)


def test_a_budget_splits_the_search_for_victims() -> None:
    """Three heads that each look at 300 workloads take a call each, and come to what one call decides."""
    reclaims = Preemption(reclaim_within_cohort="Any")
    lines = [*(queue(f"q{i}", 100, "co", preemption=reclaims) for i in range(3)), queue("b", 0, "co")]
    work = [*(running(f"b{i}", "b", since=i) for i in range(300)), *(job(f"j{i}", f"q{i}", 2) for i in range(3))]
    split, counter, victims = state(lines, work), Counter(), []
    for now in range(9):
        made = decide(split, RULES, now, counter, budget=4)
        victims += [p.workload for p in made.preempted]
        assert len(counter.looked) <= now + 1
        if made.complete:
            break
    assert made.complete
    assert sorted(victims) == sorted(p.workload for p in decide(state(lines, work), RULES, 0).preempted)


@pytest.mark.parametrize("name", ["backfill", "backfill-time"])
def test_heads_that_let_others_pass_use_no_budget_again(name: str) -> None:
    """Behind 30 jobs that do not fit a short one starts, in as many calls as it takes to look at each once.

    A change of the quota in the middle begins anew; what was decided is what one call without a budget decides.
    """
    rules = rules_of("kueue", (name,))

    def made() -> State:
        held = running("r", "a", 6, run_time=3_600_000)
        blocked = [job(f"j{i:02}", "a", 4, queued_at=i) for i in range(30)]
        return state([queue("a", 8)], [held, *blocked, job("small", "a", 1, queued_at=99, run_time=60_000)])

    whole = decide(made(), rules, 0)
    split = made()
    calls = [decide(split, rules, 0, budget=10) for _ in range(4)]
    assert [each.complete for each in calls] == [False, False, False, True]
    assert [a.workload for each in calls for a in each.admitted] == [a.workload for a in whole.admitted]

    split = made()
    assert not decide(split, rules, 0, budget=10).complete
    split.apply(WorkloadGone(f"{NS}/r"))
    first = decide(split, rules, 1, budget=10)
    assert [a.workload for a in first.admitted] == [f"{NS}/j00", f"{NS}/j01"]


def test_usage_orders_local_queues_by_what_they_used_lately() -> None:
    """Admission fair sharing: of two LocalQueues the one that used less goes first, whatever the age."""
    rules = KueueRules(half_life=60_000, sampling=10_000)
    core = state([queue("a", 4, admission_mode="UsageBasedAdmissionFairSharing")])
    local = core.local_queues[f"{NS}/a"]
    core.apply(DefinitionChanged(replace(local, name="busy")))
    core.apply(DefinitionChanged(replace(local, name="idle")))
    core.apply(WorkloadChanged(replace(running("r", "a", 2), queue_name="busy")))
    core.bind(rules, 0)
    core.apply(WorkloadChanged(job("older", "busy", 1, queued_at=1)))
    core.apply(WorkloadChanged(job("newer", "idle", 1, queued_at=2)))
    assert names(decide(core, rules, 60_000, cycles=1)) == ["newer"]


def test_who_preempts_goes_first_when_the_victims_are_gone() -> None:
    """A larger job before it in the queue borrows, and so loses to the victim each time: without its turn at the head,
    the preemptor would evict the same victim for ever.
    """
    reclaims = Preemption(reclaim_within_cohort="Any")
    lines = [queue("a", 9, "co", preemption=reclaims), queue("b", 3, "co")]
    held = [running("old", "a", 6), running("guest", "b", 4, priority=2)]
    core = state(lines, [*held, job("large", "a", 4, queued_at=1), job("small", "a", 3, queued_at=2)])
    first = decide(core, RULES, 0)
    assert [(p.workload, p.preemptor) for p in first.preempted] == [(f"{NS}/guest", f"{NS}/small")]
    give_back(core, first)
    assert names(decide(core, RULES, 1)) == ["small"]
    assert decide(core, RULES, 2).preempted == ()
