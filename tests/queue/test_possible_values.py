"""What a rule may give where only its queue is known: asked nobody where the answer is settled, and never wrongly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import queue
from tests.queue.load_rules import load_rules
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.model import Preemption

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: mine}\nspec:\n  extends: [kueue]\n"


@pytest.mark.parametrize(
    ("within", "spared"),
    [("Never", True), ("LowerPriority", False), ("LowerOrNewerEqualPriority", False), ("Any", False)],
)
@pytest.mark.parametrize("reclaim", ["Never", "Any"])
def test_kueues_rule_spares_a_queue_that_does_not_preempt_in_itself(within: str, reclaim: str, spared: bool) -> None:
    """It is read off the expression; what other queues may lose has no part in it."""
    asked = queue("a", preemption=Preemption(within, reclaim))
    assert rules_named(["kueue"]).spares(asked) is spared


@pytest.mark.parametrize(
    ("candidate", "spared"),
    [
        ("'Never'", True),
        ("'WithinQueue'", False),
        ("victim.workload.user == workload.user ? 'WithinQueue' : 'Never'", False),
        ("victim.clusterQueue != queue.name ? 'Hierarchy' : 'Never'", True),
        ("queue.queueingStrategy in ['StrictFIFO', 'Other'] ? 'WithinQueue' : 'Never'", True),
        ("!(queue.queueingStrategy == 'StrictFIFO') && workload.priority > 3 ? 'WithinQueue' : 'Never'", False),
        ("queue.queueingStrategy == 'StrictFIFO' && workload.priority > 3 ? 'WithinQueue' : 'Never'", True),
        ("has(queue.name) ? 'WithinQueue' : 'Never'", False),
        ("queue.labels[?'a'].orValue('') == 'b' ? 'WithinQueue' : 'Never'", False),
        ("queue.labels.exists(queue, queue == 'x') ? 'WithinQueue' : 'Never'", False),
        ("queue.preemption.borrowWithinCohort.maxPriorityThreshold == null ? 'Never' : 'WithinQueue'", True),
        ("dyn(queue.queueingStrategy) == 'BestEffortFIFO' ? 'Never' : 'WithinQueue'", False),
    ],
)
def test_a_rule_spares_where_nothing_else_can_come_out(candidate: str, spared: bool) -> None:
    """What is not understood may give anything, so everybody is asked about."""
    rules = load_rules(f'{HEAD}  preempt:\n    candidate: "{candidate}"\n')
    assert rules.spares(replace(queue("a"), labels={})) is spared
