"""Nobody is evicted back and forth: what victims free is kept for whom they were evicted for, until it runs."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pytest

from tests.queue.build import NS, job, names, queue, running, state
from tests.queue.load_rules import load_rules
from tests.queue.python_rules import KueueRules
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.events import DefinitionChanged, Event, WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.model import LocalQueue, Preemption
from webhook.queue.rules import Rules
from webhook.queue.state import State

RECLAIMS = Preemption(within_cluster_queue="LowerPriority", reclaim_within_cohort="Any")
KINDS = {"classic": KueueRules(), "fair": KueueRules(fair=True)}
both = pytest.mark.parametrize("rules", KINDS.values(), ids=KINDS.keys())


def evictions(core: State, rules: Rules, delay: int = 1, steps: int = 1000) -> Counter[str]:
    """Decide until nothing changes; who is evicted gives back `delay` decisions later. How often each one was."""
    counts: Counter[str] = Counter()
    going: list[tuple[int, str]] = []
    for now in range(steps):
        for _, key in [g for g in going if g[0] == now]:
            core.apply(WorkloadEvicted(key, core.entries[key].workload.created))
        going = [g for g in going if g[0] > now]
        made = decide(core, rules, now)
        counts.update(p.workload for p in made.preempted)
        going += [(now + delay + i % delay, p.workload) for i, p in enumerate(made.preempted)]
        if not (made.admitted or made.preempted or going):
            return counts
    raise AssertionError("it does not come to rest")


SIZES = range(1, 101) if os.environ.get("SLUICE_ALL_SIZES") else (1, 2, 3, 7, 10, 33, 100)
"""All sizes up to 100 by hand: `SLUICE_ALL_SIZES=1 pytest tests/queue/test_evictions.py -k reclaiming`."""


@both
@pytest.mark.parametrize("delay", [1, 3])
def test_reclaiming_evicts_each_job_once_and_no_more_than_needed(rules: Rules, delay: int) -> None:
    """A queue that owns two thirds takes them back from one that runs on all, at any size: one victim for each unit."""
    for size in SIZES:
        work = [running(f"b{i}", "b", since=i, queued_at=i, created=i) for i in range(3 * size)]
        work += [job(f"a{i}", "a", queued_at=1000 + i) for i in range(2 * size)]
        core = state(
            [queue("a", 2 * size, "co", preemption=RECLAIMS), queue("b", size, "co", preemption=RECLAIMS)], work
        )
        counts = evictions(core, rules, delay)
        assert (sum(counts.values()), max(counts.values())) == (2 * size, 1), size


def test_the_case_of_the_issue() -> None:
    """Nominals 8 and 4, twelve jobs of b running, a reclaims: eight evictions of eight jobs."""
    for rules in (*KINDS.values(), rules_named(["kueue"]), rules_named(["kueue-fair"])):
        work = [running(f"b{i}", "b", since=i, queued_at=i, created=i) for i in range(12)]
        work += [job(f"a{i}", "a", queued_at=100 + i) for i in range(8)]
        core = state([queue("a", 8, "co", preemption=RECLAIMS), queue("b", 4, "co", preemption=RECLAIMS)], work)
        assert set(evictions(core, rules).values()) == {1}
        assert len(core.by_queue["a"].holders) == 8


def preempting() -> State:
    """A big preemptor whose two victims go one after the other; others would fit into what the first one frees."""
    lines = [queue("a", 4, "co", preemption=RECLAIMS), queue("b", 0, "co"), queue("c", 0, "co")]
    work = [running("v1", "b", 2, since=1), running("v2", "b", 2, since=2), job("big", "a", 4, queued_at=5)]
    core = state(lines, work)
    assert {p.workload for p in decide(core, KueueRules(), 0).preempted} == {f"{NS}/v1", f"{NS}/v2"}
    return core


def with_quota(core: State, most: int) -> None:
    """Give queue a another quota."""
    core.apply(DefinitionChanged(replace(core.cluster_queues["a"], resource_groups=queue("a", most).resource_groups)))


def shrunk() -> State:
    """The big preemptor with its victims gone, and its quota as well."""
    core = preempting()
    with_quota(core, 3)
    core.apply(WorkloadGone(f"{NS}/v1"))
    core.apply(WorkloadGone(f"{NS}/v2"))
    return core


@pytest.mark.parametrize("line", ["a", "b", "c"])
def test_what_one_victim_frees_is_kept_until_the_other_is_gone(line: str) -> None:
    """Nobody takes it, of whatever queue and priority."""
    core = preempting()
    core.apply(WorkloadGone(f"{NS}/v1"))
    core.apply(WorkloadChanged(job("small", line, 1, priority=9, queued_at=9)))
    assert names(decide(core, KueueRules(), 1)) == []
    core.apply(WorkloadGone(f"{NS}/v2"))
    assert names(decide(core, KueueRules(), 2)) == ["big"]


def test_a_preemptor_that_is_deleted_keeps_nothing() -> None:
    """What was freed for it goes to others at once."""
    core = preempting()
    core.apply(WorkloadGone(f"{NS}/v1"))
    core.apply(WorkloadGone(f"{NS}/big"))
    core.apply(WorkloadChanged(job("small", "c", 2, queued_at=9)))
    assert names(decide(core, KueueRules(), 1)) == ["small"]


BIG = job("big", "a", 4, priority=5)
AWAY: dict[str, tuple[Event, Event]] = {
    "inactive": (WorkloadChanged(replace(BIG, active=False)), WorkloadChanged(BIG)),
    "held": (WorkloadChanged(replace(BIG, held="gated by me")), WorkloadChanged(BIG)),
    "stopped": (DefinitionChanged(LocalQueue(NS, "a", "a", "Hold")), DefinitionChanged(LocalQueue(NS, "a", "a"))),
    "of another queue": (WorkloadChanged(replace(BIG, queue_name="b")), WorkloadChanged(BIG)),
    "another of its name": (WorkloadChanged(replace(BIG, uid="new")), WorkloadChanged(replace(BIG, uid="new"))),
}


@pytest.mark.parametrize(("leaves", "returns"), AWAY.values(), ids=AWAY.keys())
def test_a_preemptor_that_left_its_queue_is_back_in_line(leaves: Event, returns: Event) -> None:
    """Nothing was kept for it meanwhile; when it is back, maybe after days, who is more urgent goes before it."""
    core, rules = state([queue("a", 4, preemption=RECLAIMS), queue("b", 0)], [running("v", "a", 4), BIG]), KueueRules()
    assert [p.preemptor for p in decide(core, rules, 0).preempted] == [BIG.key]
    core.apply(leaves)
    core.bind(rules, 1)
    core.apply(WorkloadGone(f"{NS}/v"))
    core.apply(returns)
    core.apply(WorkloadChanged(job("urgent", "a", 4, priority=9, queued_at=9)))
    assert names(decide(core, rules, 2)) == ["urgent"]


def test_a_preemptor_that_no_longer_fits_makes_way() -> None:
    """Quota that is taken away under it frees its queue for others."""
    core = shrunk()
    core.apply(WorkloadChanged(job("small", "a", 2, queued_at=9)))
    assert names(decide(core, KueueRules(), 1)) == ["small"]


@pytest.mark.parametrize(("cycles", "following"), [(None, "urgent"), (1, "big")])
def test_a_preemptor_that_no_longer_fits_stays_first_where_cycles_are_counted(
    cycles: int | None, following: str
) -> None:
    """As in Kueue, of whatever priority the others are."""
    core = shrunk()
    assert names(decide(core, KueueRules(), 1, cycles=cycles)) == []
    with_quota(core, 4)
    core.apply(WorkloadChanged(job("urgent", "a", 4, priority=9, queued_at=9)))
    assert names(decide(core, KueueRules(), 2, cycles=cycles)) == [following]


def test_the_next_preemptor_of_a_queue_takes_the_first_place_from_the_one_before() -> None:
    """It falls back behind those of higher priority, where cycles are counted."""
    core, rules = shrunk(), KueueRules()
    decide(core, rules, 1, cycles=1)
    core.apply(WorkloadChanged(running("v3", "b", 3, since=3)))
    core.apply(WorkloadChanged(job("urgent", "a", 3, priority=9, queued_at=9)))
    assert [(p.workload, p.preemptor) for p in decide(core, rules, 2, cycles=1).preempted] == [
        (f"{NS}/v3", f"{NS}/urgent")
    ]
    core.apply(WorkloadGone(f"{NS}/v3"))
    assert names(decide(core, rules, 3, cycles=1)) == ["urgent"]
    core.apply(WorkloadGone(f"{NS}/urgent"))
    with_quota(core, 4)
    core.apply(WorkloadChanged(job("later", "a", 4, priority=5, queued_at=10)))
    assert names(decide(core, rules, 4, cycles=1)) == ["later"]


@both
def test_an_edit_of_a_queue_evicts_nobody_again(rules: Rules) -> None:
    """Trees are built anew; who is on the way out stays so, and whom it is for keeps its place."""
    core = state(
        [queue("a", 4, preemption=RECLAIMS), queue("z", 1)], [running("low", "a", 4), job("high", "a", 4, priority=5)]
    )
    assert len(decide(core, rules, 0).preempted) == 1
    core.apply(DefinitionChanged(queue("z", 2)))
    assert decide(core, rules, 1).preempted == ()
    core.apply(WorkloadGone(f"{NS}/low"))
    assert names(decide(core, rules, 2)) == ["high"]


@both
def test_a_restart_evicts_nobody_again(rules: Rules) -> None:
    """A state built from the objects alone finds the victims on their way out, and waits for them."""
    core = state([queue("a", 4, preemption=RECLAIMS)], [running("low", "a", 4), job("high", "a", 4, priority=5)])
    decide(core, rules, 0)
    fresh = State.from_snapshot(core.snapshot())
    assert decide(fresh, rules, 1).preempted == ()
    fresh.apply(WorkloadGone(f"{NS}/low"))
    assert names(decide(fresh, rules, 2)) == ["high"]


def test_work_of_a_stopped_queue_is_no_victim() -> None:
    """Whatever it borrows: its queue would not let it start again."""
    lines = [queue("a", 4, "co", preemption=RECLAIMS), queue("b", 0, "co", stop_policy="Hold")]
    for rules in KINDS.values():
        core = state(lines, [running("r", "b", 4), job("mine", "a", 4)])
        assert decide(core, rules, 0).preempted == ()


def test_a_head_that_fits_but_for_victims_of_its_cycle_starts_with_them_on_their_way_out() -> None:
    """As in Kueue: the head was found to fit, and what an earlier preemptor takes will be given back by its victims."""
    lines = [queue("a", 2, "co", preemption=RECLAIMS), queue("b", 2, "co"), queue("c", 1, "co")]
    work = [running("v", "b", 4, since=1), job("urgent", "a", 2, priority=9), job("plain", "c", 1, queued_at=5)]
    core = state(lines, work)
    made = decide(core, KueueRules(), 0, cycles=1)
    assert ([p.workload for p in made.preempted], names(made)) == ([f"{NS}/v"], ["plain"])


YOUNG = """
apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: grace}
spec:
  preempt:
    candidate: >-
      int(now) * 1000 - victim.reservedAt < 600000 || victim.workload.runTime < 60000 ? 'Never'
      : victim.priority < workload.priority ? 'WithinQueue' : 'Never'
"""


def test_a_rule_may_spare_the_young_and_the_short() -> None:
    """`preempt.candidate` sees the time, a victim's start and run time, and is asked again as time passes."""
    rules = load_rules(YOUNG)
    work = [running("long", "a", 2, since=0, run_time=9_000_000), running("short", "a", 2, since=0, run_time=30_000)]
    core = state([queue("a", 4, preemption=RECLAIMS)], [*work, job("high", "a", 2, priority=5)])
    early = decide(core, rules, 540_000)
    assert early.preempted == ()
    assert early.next_at == 600_000
    assert [p.workload for p in decide(core, rules, 600_000).preempted] == [f"{NS}/long"]
