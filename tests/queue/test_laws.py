"""What holds whatever the cluster: found by Hypothesis over random trees, flavors, workloads and interleavings."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.queue.build import NS, copy_of, give_back
from tests.queue.python_rules import KueueRules
from tests.queue.random_clusters import QUEUES, definitions, jobs, quotas, workloads
from webhook.offline.laws.checks import without_victims
from webhook.queue.cycle.decide import decide
from webhook.queue.cycle.nominate import Nomination, Nominator
from webhook.queue.decisions import Decisions
from webhook.queue.events import DefinitionChanged, WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.model import Namespace, Requirement, Selector, Snapshot, Workload
from webhook.queue.pending.queue import PendingQueue, Status
from webhook.queue.preemption.victim_search import fits, without
from webhook.queue.rules import Mode
from webhook.queue.state import State

RULES = {"classic": KueueRules(), "fair": KueueRules(fair=True)}
EXAMPLES = int(os.environ.get("SLUICE_EXAMPLES", "40"))
"""By hand: SLUICE_EXAMPLES=2000 SLUICE_EVENTS=1000."""
EVENTS = int(os.environ.get("SLUICE_EVENTS", "60"))
MANY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
CYCLES = 60
both = pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())


def with_work(world: Snapshot, work: list[Workload]) -> State:
    return State.from_snapshot(replace(world, workloads=tuple(work)))


def usages(state: State) -> list[list[int]]:
    return [tree.usage.copy() for tree in state.trees]


def until_stable(state: State, rules: KueueRules) -> int:
    """Decide and evict until nothing changes; the number of calls that took."""
    for cycle in range(CYCLES):
        decisions = decide(state, rules, 100 + cycle)
        if not decisions.admitted and not decisions.preempted:
            return cycle
        give_back(state, decisions)
    raise AssertionError("no fixed point")


def outcome(decisions: Decisions) -> tuple[object, ...]:
    return (
        sorted((a.workload, a.cluster_queue, str(a.pod_sets)) for a in decisions.admitted),
        sorted((p.workload, p.reason, p.preemptor) for p in decisions.preempted),
    )


@both
@MANY
@given(world=definitions(), work=workloads())
def test_no_decision_raises_usage_above_a_limit(rules: KueueRules, world: Snapshot, work: list[Workload]) -> None:
    """Wherever usage rose at a node, it is within the root's quota and the node's borrowing limit.

    As in Kueue, what fits when the victims of its own cycle are gone starts at once; so victims count as gone.
    """
    state = with_work(world, work)
    state.bind(rules)
    for now in range(4):
        before = usages(state)
        decisions = decide(state, rules, now)
        for tree, old in zip(state.trees, before, strict=True):
            usage = without_victims(state, tree)
            for cell, was in zip(tree.cells, old, strict=True):
                if usage[cell.at] > was:
                    assert not cell.root or usage[cell.at] <= cell.subtree
                    limited = cell.borrowing_limit >= 0 and not cell.root
                    assert not limited or usage[cell.at] <= cell.subtree + cell.borrowing_limit
        if now % 2:
            give_back(state, decisions)


@both
@MANY
@given(world=definitions(), work=workloads(), lowered=quotas())
def test_limits_lowered_below_usage_are_not_made_worse(
    rules: KueueRules, world: Snapshot, work: list[Workload], lowered: object
) -> None:
    """An administrator who lowers quota below usage finds it exceeded no further by any later decision."""
    state = with_work(world, work[: len(work) // 2])
    until_stable_or_tired(state, rules)
    queue = world.cluster_queues[0]
    flavors = tuple(replace(f, resources=dict.fromkeys(f.resources, lowered)) for f in queue.resource_groups[0].flavors)
    state.apply(
        DefinitionChanged(replace(queue, resource_groups=(replace(queue.resource_groups[0], flavors=flavors),)))
    )
    for workload in work[len(work) // 2 :]:
        state.apply(WorkloadChanged(workload))
    state.bind(rules)
    before = usages(state)
    decide(state, rules, 1000)
    for tree, old in zip(state.trees, before, strict=True):
        for cell, was in zip(tree.cells, old, strict=True):
            assert tree.usage[cell.at] <= max(was, cell.subtree) or not cell.root


@both
@MANY
@given(world=definitions(), work=workloads())
def test_at_the_fixed_point_nothing_that_fits_is_left(rules: KueueRules, world: Snapshot, work: list[Workload]) -> None:
    """Under BestEffortFIFO, when nothing changes any more, no pending workload simply fits."""
    state = with_work(world, work)
    try:
        until_stable(state, rules)
    except AssertionError:
        assume(not rules.fair)
        raise
    for pending_queue in state.pending_queues.values():
        for entry in pending_queue.waiting():
            entry.progress = None
            found = Nominator(state, pending_queue.node.tree.usage, {}).nominate(entry, pending_queue)
            assert found.assignment.mode != Mode.FIT, entry.key


@MANY
@given(world=definitions(), work=workloads())
def test_classic_preemption_comes_to_rest(world: Snapshot, work: list[Workload]) -> None:
    """Nobody is evicted back and forth: with evictions carried out at once, a fixed point is reached."""
    until_stable(with_work(world, work), RULES["classic"])


@both
@MANY
@given(world=definitions(), work=workloads(), data=st.data())
def test_decisions_do_not_depend_on_input_order(
    rules: KueueRules, world: Snapshot, work: list[Workload], data: st.DataObject
) -> None:
    """The same objects in a different order give the same decisions."""
    first, second = with_work(world, work), None
    shuffled = replace(
        world,
        flavors=tuple(data.draw(st.permutations(world.flavors))),
        cluster_queues=tuple(data.draw(st.permutations(world.cluster_queues))),
        cohorts=tuple(data.draw(st.permutations(world.cohorts))),
        local_queues=tuple(data.draw(st.permutations(world.local_queues))),
    )
    second = with_work(shuffled, data.draw(st.permutations(work)))
    for now in range(3):
        one, two = decide(first, rules, now), decide(second, rules, now)
        assert outcome(one) == outcome(two)
        give_back(first, one)
        give_back(second, two)


@both
@MANY
@given(world=definitions(), work=workloads(4, 12), data=st.data())
def test_preemption_evicts_no_one_more_than_needed(
    rules: KueueRules, world: Snapshot, work: list[Workload], data: st.DataObject
) -> None:
    """With all victims of a head gone it fits; with any one of them put back it does not."""
    state = with_work(world, work[: len(work) // 2])
    until_stable_or_tired(state, rules)
    for workload in work[len(work) // 2 :]:
        state.apply(WorkloadChanged(replace(workload, priority=workload.priority + 2)))
    state.bind(rules)
    for pending_queue in state.pending_queues.values():
        usage, tree = pending_queue.node.tree.usage, pending_queue.node.tree
        for entry in list(pending_queue.waiting()):
            nomination = Nominator(state, usage, {}).nominate(entry, pending_queue)
            if not nomination.targets:
                continue
            assert any(_needed(state, pending_queue, nomination, borrowing) for borrowing in (True, False)), entry.key
            assert usage == tree.usage


def _needed(state: State, pending_queue: PendingQueue, nomination: Nomination, borrowing: bool) -> bool:
    tree, amounts = pending_queue.node.tree, nomination.assignment.amounts()
    assert state.rules is not None
    if not fits(state.rules, pending_queue.node, amounts, without(tree.usage, nomination.targets), borrowing):
        return False
    for kept in nomination.targets:
        others = [t for t in nomination.targets if t is not kept]
        if fits(state.rules, pending_queue.node, amounts, without(tree.usage, others), borrowing):
            return False
    return True


def until_stable_or_tired(state: State, rules: KueueRules) -> None:
    """Decide and evict for a while."""
    for cycle in range(8):
        give_back(state, decide(state, rules, cycle))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 30)),
        st.tuples(st.just("finish"), st.integers(0, 30)),
        st.tuples(st.just("evict"), st.integers(0, 30)),
        st.tuples(st.just("decide"), st.integers(0, 2)),
        st.tuples(st.just("quota"), st.integers(0, 3)),
        st.tuples(st.just("namespace"), st.integers(0, 1)),
    ),
    min_size=5,
    max_size=EVENTS,
)


@both
@MANY
@given(world=definitions(), work=st.tuples(*(jobs(i) for i in range(16))), steps=STEPS, data=st.data())
def test_a_rebuilt_state_equals_the_incremental_one(
    rules: KueueRules, world: Snapshot, work: tuple[Workload, ...], steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    """After any events a state built anew from the same facts has the same usage and decides the same."""
    picky, *others = world.cluster_queues
    picky = replace(picky, namespace_selector=Selector((Requirement("team", "In", ("1",)),)))
    state = State.from_snapshot(replace(world, cluster_queues=(picky, *others)))
    for now, (what, number) in enumerate(steps):
        apply_step(state, rules, work, what, number, now, data)
    same_as_rebuilt(state, rules, len(steps))


def same_as_rebuilt(state: State, rules: KueueRules, now: int) -> Decisions:
    """Decide, and check that a state built anew with the same memory has the same usage and decides the same."""
    state.bind(rules)
    fresh = copy_of(state)
    assert usages(fresh) == usages(state)
    assert held(fresh) == held(state)
    decisions = decide(state, rules, now)
    assert outcome(decide(fresh, rules, now)) == outcome(decisions)
    return decisions


def held(state: State) -> dict[str, str]:
    return {
        k: e.pending_queue.queue.name
        for k, e in state.entries.items()
        if e.status == Status.HOLDING and e.pending_queue
    }


def apply_step(
    state: State,
    rules: KueueRules,
    work: tuple[Workload, ...],
    what: str,
    number: int,
    now: int,
    data: st.DataObject,
) -> None:
    """Do one step of a history."""
    keys = sorted(held(state))
    if what == "add":
        state.apply(WorkloadChanged(work[number % len(work)]))
    elif what == "finish" and keys:
        state.apply(WorkloadGone(keys[number % len(keys)]))
    elif what == "evict" and keys:
        state.apply(WorkloadEvicted(keys[number % len(keys)], now))
    elif what == "decide":
        decisions = same_as_rebuilt(state, rules, now)
        if number:
            give_back(state, decisions)
    elif what == "namespace":
        state.apply(DefinitionChanged(Namespace(NS, labels={"team": str(number)})))
    elif what == "quota":
        queue = state.cluster_queues[QUEUES[number]]
        flavors = tuple(
            replace(f, resources={r: data.draw(quotas()) for r in f.resources})
            for f in queue.resource_groups[0].flavors
        )
        state.apply(
            DefinitionChanged(replace(queue, resource_groups=(replace(queue.resource_groups[0], flavors=flavors),)))
        )


@both
@MANY
@given(world=definitions(), work=workloads())
def test_a_plan_is_what_is_carried_out(rules: KueueRules, world: Snapshot, work: list[Workload]) -> None:
    """Deciding step by step from the objects as they stand gives what deciding on one state gave."""
    planned, objects = with_work(world, work), replace(world, workloads=tuple(work))
    for now in range(5):
        step = State.from_snapshot(objects)
        done = decide(step, rules, now)
        assert outcome(decide(planned, rules, now)) == outcome(done)
        give_back(planned, done)
        give_back(step, done)
        objects = step.snapshot()
