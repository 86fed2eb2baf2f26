"""A rule that fails while it is asked: what it was asked about waits, with where the rule stands; the rest goes on."""

from __future__ import annotations

import pytest

from tests.queue.build import NS, give_back, job, names, queue, running, state
from tests.queue.load_rules import load_rules
from webhook.documents import read
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.events import WorkloadChanged
from webhook.queue.explain import pending
from webhook.queue.model import Preemption
from webhook.queue.rules import Rules
from webhook.queue.state import State

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n"
FAIR = "  extends: [kueue-fair]\n"
BAD = "int(workload.annotations['x'])"


def rules(spec: str) -> Rules:
    """Rules of one file, `rules.yaml`."""
    return load_rules(read(HEAD + spec, "rules.yaml"))


def failure(core: State, name: str) -> str:
    """What is told of a job that a rule failed on; it is parked."""
    told = {p.workload: p for p in pending(core)}[f"{NS}/{name}"]
    assert (told.place, told.reason) == (PendingPlace.INADMISSIBLE, Reason.RULE_FAILED)
    return told.message


POINTS = {
    "order": f"  order:\n    - workload.name\n    - {BAD}\n",
    "across": f"  across:\n    - {BAD}\n",
    "strict": f"  strict: {BAD} > 0\n",
    "park": f"  park: {BAD} > 0\n",
    "reserve.when": f'  reserve: {{when: "{BAD} > 0"}}\n',
    "preempt.candidate": f"  preempt: {{candidate: \"{BAD} > 0 ? 'WithinQueue' : 'Never'\"}}\n",
    "requeue": f"  requeue: {BAD}\n",
    "admit": f'  admit:\n    - {{expression: "{BAD} > 0", reason: R}}\n',
    "flavor.stop": "  flavor: {stop: \"queue.resourceGroups[7].coveredResources[0] == 'gpu'\"}\n",
    "capacity.available": "  capacity: {available: 1 / (node.nominalQuota - node.nominalQuota)}\n",
    "tournament": FAIR + f"  tournament:\n    - {BAD}\n",
    "share.ratio": FAIR + "  share: {ratio: double(borrowed / (lendable - lendable))}\n",
}


@pytest.mark.parametrize("point", POINTS)
def test_no_rule_takes_the_controller_down(point: str) -> None:
    """Whatever point fails, decisions are given, call after call, and the job waits with the rule that failed."""
    mine = {"within_cluster_queue": "LowerPriority", "reclaim_within_cohort": "Any"}
    lines = [queue(n, 2, "co", preemption=Preemption(**mine)) for n in ("a", "b")]
    held = [running("r", "a", 1, annotations={"x": "1"}), running("s", "b", 2, annotations={"x": "1"})]
    core = state(lines, [*held, job("j", "a", 2, priority=5), job("k", "b", 1, priority=5)])
    ruled = rules(POINTS[point])
    for now in range(3):
        decisions = decide(core, ruled, now)
        assert decisions.complete
        give_back(core, decisions)
    told = [p.message for p in pending(core) if p.reason == Reason.RULE_FAILED]
    if point != "share.ratio":
        assert told
    for message in told:
        assert message.startswith("rules.yaml:")
        assert f"rule {point}" in message


def test_the_place_is_that_of_the_failing_part() -> None:
    """File, line and column of the part that failed, the point, the key within it, and why."""
    core = state([queue("a", 9)], [job("j", "a")])
    decide(core, rules(POINTS["order"]), 0)
    message = failure(core, "j")
    assert message.startswith("rules.yaml:7:")
    assert "rule order.1" in message
    assert "no such key: x" in message


def test_others_of_the_same_shape_are_not_held_up() -> None:
    """The rule fails on one job; another that asks the same starts, and the first too once it is mended."""
    core = state([queue("a", 9)], [job("j", "a"), job("k", "a", annotations={"x": "1"})])
    ruled = rules(POINTS["strict"].replace("strict", "order").replace(f": {BAD} > 0", f":\n    - {BAD}"))
    assert names(decide(core, ruled, 0)) == ["k"]
    assert "rule order.0" in failure(core, "j")
    core.apply(WorkloadChanged(job("j", "a", annotations={"x": "2"})))
    assert names(decide(core, ruled, 1)) == ["j"]


def test_a_failing_condition_is_looked_at_again() -> None:
    """A condition that failed is asked again when something moved, and no sooner."""
    ruled = rules("  admit:\n    - {expression: \"10 / (facts.queueUsage['gpu'] - 1) > 0\", reason: R}\n")
    core = state([queue("a", 9)], [running("r", "a", 1), job("j", "a", 2)])
    assert names(decide(core, ruled, 0)) == []
    assert "divi" in failure(core, "j")
    core.apply(WorkloadChanged(running("s", "a", 3)))
    assert names(decide(core, ruled, 1)) == ["j"]


def test_a_tree_whose_quota_cannot_be_told_stands_still() -> None:
    """Where the rule of lending fails, nothing in that tree is decided; other trees go on."""
    ruled = rules("  capacity: {guaranteed: 1 / (node.nominalQuota - 4)}\n")
    core = state([queue("a", 4), queue("b", 8)], [job("j", "a"), job("k", "b")])
    assert names(decide(core, ruled, 0)) == ["k"]
    told = {p.workload: p for p in pending(core)}[f"{NS}/j"]
    assert told.reason == Reason.SUSPENDED
    assert "rules.yaml:5:" in told.message
    assert "rule capacity.guaranteed" in told.message
