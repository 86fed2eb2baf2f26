"""Rules may give anything that CEL has: keys compare in one total order, what has no order is told, nothing raises."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.queue.build import NS, job, names, queue, running, state
from tests.queue.load_rules import load_rules
from tests.queue.random_clusters import definitions, workloads
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.policy.queue_rules.values import BadValue, sortable
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Reason
from webhook.queue.explain import pending
from webhook.queue.model import Preemption, Snapshot
from webhook.queue.rules import Rules
from webhook.queue.state import State

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n"
MIXED = "[dyn(1), dyn('a'), dyn(null), dyn(0.0 / 0.0), dyn(2u), dyn(b'x'), dyn(true), dyn([dyn(1), dyn('b')])]"
VALUES = (
    "null",
    "1",
    "-3",
    "2u",
    "1.5",
    "0.0 / 0.0",
    "1.0 / 0.0",
    "'text'",
    "b'bytes'",
    "true",
    "timestamp('2026-01-01T00:00:00Z')",
    "duration('5s')",
    "[dyn(1), dyn('a'), dyn(null)]",
    "{'a': 1}",
    "type(1)",
    "optional.of(1)",
    "1 / (queue.weight - queue.weight)",
)


def rules(spec: str) -> Rules:
    """Rules of one file, `rules.yaml`."""
    return load_rules(read(HEAD + spec, "rules.yaml"))


def pick(by: str = "workload.priority + workload.podSets.size()") -> st.SearchStrategy[str]:
    """An expression that gives one of some values, another for each workload."""
    lists = st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)
    return lists.map(lambda v: json.dumps(f"[{', '.join(f'dyn({x})' for x in v)}][int({by}) % {len(v)}]"))


def test_one_order_over_all_types():
    """null < bool < numbers of any kind by value < string < bytes < list; NaN counts as infinity."""
    ordered = [None, False, True, -1, 0.5, 1, 2.5, float("inf"), "a", "b", b"a", [], [1], [1, "a"]]
    backwards = ordered[::-1]
    assert sorted(backwards, key=sortable) == ordered
    assert sortable(float("nan")) == sortable(float("inf"))
    for some in permutations([None, 1, "a", 0.5]):
        assert sorted(some, key=sortable) == [None, 0.5, 1, "a"]
    with pytest.raises(BadValue, match="a map"):
        sortable({"a": 1})


def test_mixed_keys_order_the_queue():
    """Jobs whose keys are an int, a string and null start as the order of types says."""
    ruled = rules(f"  order:\n    - \"dyn({MIXED})[int(workload.annotations['at'])]\"\n")
    jobs = [job(f"j{at}", "a", annotations={"at": str(at)}) for at in range(8)]
    core = state([queue("a", 99)], jobs)
    # null, true, 1, 2u, NaN, 'a', b'x', the list
    assert names(decide(core, ruled, 0)) == ["j2", "j6", "j0", "j4", "j3", "j1", "j5", "j7"]


def test_a_static_key_without_an_order_is_refused_when_it_is_loaded():
    """A map as a sort key is told at its place, with the rule."""
    with pytest.raises(SourceError) as failed:
        rules("  order:\n    - workload.priority\n    - \"{'a': 1}\"\n")
    (found,) = failed.value.diagnostics
    assert (found.place.line, found.code) == (7, "RUL004")
    assert "has no order" in found.message


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("  order:\n    - workload.priority\n    - \"dyn({'a': 1})\"\n", "rule order.1: a sort key cannot be a map"),
        ("  strict: dyn(1)\n", "rule strict: returned an int, expected a bool"),
        ("  requeue: dyn('soon')\n", "rule requeue: returned a string, expected an int"),
        ("  preempt: {candidate: \"'Always'\"}\n", "rule preempt.candidate: returned 'Always', expected one of"),
        ("  preempt: {attempts: dyn(3)}\n", "rule preempt.attempts: returned an int, expected a list of bools"),
        ("  flavor: {eligible: dyn(null)}\n", "rule flavor.eligible: returned null, expected a bool"),
        ("  requeue: '-1'\n", "rule requeue: returned -1, expected a time"),
        ("  requeue: at + 9000000000000000\n", "rule requeue: returned 9000000000000000, expected a time"),
        ("  capacity: {available: dyn(1.5)}\n", "rule capacity.available: returned a double, expected an int"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_at_its_place(spec: str, told: str):
    """What a dynamic expression gives is looked at: the job waits, and the rule, its place and the value are named."""
    within = Preemption(within_cluster_queue="LowerPriority")
    core = state([queue("a", 2, preemption=within)], [running("r", "a", 2), job("j", "a", 2, priority=5)])
    decide(core, rules(spec), 0)
    (message,) = (p.message for p in pending(core) if p.workload == f"{NS}/j")
    assert message.startswith("rules.yaml:")
    assert told in message


FAIR = "  extends: [kueue-fair]\n  share: "


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("  capacity: {guaranteed: '-1'}\n", "capacity.guaranteed: returned -1, expected an amount"),
        ("  capacity: {most: 'node.nominalQuota - 9'}\n", "capacity.most: returned -9, expected an amount"),
        (FAIR + "{value: 0.0 / 0.0}\n", "share.value: returned NaN, expected a number"),
        (FAIR + "{ratio: '-1.0'}\n", "share.ratio: returned -1.0; a share must not be negative"),
    ],
)
def test_a_number_out_of_range_is_told_at_its_place(spec: str, told: str):
    """Nobody gets more quota by it: who would be decided about waits, and is told which rule, and its place."""
    core = state([queue("a", 2, "co"), queue("b", 2, "co")], [job("j", "a", 3), job("k", "b", 3)])
    decide(core, rules(spec), 0)
    messages = [p.message for p in pending(core)]
    assert messages
    assert all("rules.yaml:" in message and told in message for message in messages)


def test_what_is_reserved_never_makes_room():
    """A rule that reserves less than nothing lets nobody in above the quota."""
    ruled = rules("  reserve: {when: 'true', amount: '-5'}\n  park: 'false'\n")
    core = state([queue("a", 2, "co"), queue("b", 2, "co")], [job("big", "a", 9), job("j", "b", 3), job("k", "b", 3)])
    admitted = [name for now in range(4) for name in names(decide(core, ruled, now))]
    assert len(admitted) == 1


def quota_holds(core: State) -> bool:
    """Whether no tree uses more than it has."""
    return all(
        tree.usage[at] <= max(0, tree.cells[at].subtree)
        for tree in core.trees
        for at in range(tree.root.base, tree.root.base + tree.width)
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(facts=definitions(), pending_work=workloads(2, 8), fair=st.booleans(), data=st.data())
def test_rules_that_give_anything_never_stop_the_cycle(facts: Snapshot, pending_work: list, fair: bool, data):
    """Points drawn at random give values drawn at random: decisions are always given, and no quota is exceeded."""
    points = {
        "order": f"  order:\n    - {data.draw(pick())}\n    - workload.uid\n",
        "across": f"  across:\n    - {data.draw(pick())}\n",
        "strict": f"  strict: {data.draw(pick())}\n",
        "park": f"  park: {data.draw(pick())}\n",
        "reserve": f"  reserve:\n    when: {data.draw(pick())}\n    amount: {data.draw(pick('asked'))}\n",
        "preference": f"  flavor:\n    preference:\n      - {data.draw(pick('option.mode'))}\n",
        "preempt": f"  preempt:\n    order: [{data.draw(pick())}]\n    reach: {data.draw(pick('queue.weight'))}\n",
        "requeue": f"  requeue: {data.draw(pick())}\n",
    }
    if fair:
        points["tournament"] = f"  fairSharing: {{enabled: true}}\n  tournament:\n    - {data.draw(pick())}\n"
        points["share"] = f"  share:\n    value: {data.draw(pick('weight / 1000'))}\n"
    chosen = data.draw(st.lists(st.sampled_from(sorted(points)), min_size=1, max_size=4, unique=True))
    spec = "".join(points[name] for name in chosen).replace("queue.weight - queue.weight", "1 - 1")
    try:
        ruled = rules(spec)
    except SourceError:
        return  # a list of one value has that value's static type, and may be refused
    core = State.from_snapshot(
        Snapshot(
            facts.flavors,
            facts.cluster_queues,
            facts.cohorts,
            facts.local_queues,
            facts.namespaces,
            workloads=tuple(pending_work),
        )
    )
    for now in range(3):
        assert decide(core, ruled, now, budget=200) is not None
        assert quota_holds(core)
    for told in pending(core):
        assert told.message or told.reason != Reason.RULE_FAILED
