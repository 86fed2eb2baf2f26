"""Heads that try one flavor after the other: each search comes to an end, and those behind it have their turn."""

from __future__ import annotations

from dataclasses import replace

from tests.queue.build import group, job, names, queue, running, state
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.model import Admission, PodSet, PodSetAssignment


def test_pod_sets_that_lead_each_other_on_do_not_block_the_queue() -> None:
    """Two pod sets start each other's search anew for ever; the job behind them starts in the same call.

    Found by the law WorkConserving: nothing that fits is left waiting.
    """
    first = {"resource_groups": (group(("one", {"gpu": 1}), ("two", {"gpu": 4})),)}
    other = {"resource_groups": (group(("one", {"gpu": 3}), ("two", {"gpu": 0})),)}
    held = Admission("a", (PodSetAssignment("main", {"gpu": "two"}, {"gpu": 8}, 1),))
    core = state(
        [queue("a", cohort="low", **first), queue("b", cohort="low", **other)],
        [
            replace(running("held", "a", 8, priority=3), admission=held),
            job("big", "a", priority=1, pod_sets=(PodSet("x", 1, {"gpu": 4}), PodSet("y", 1, {"gpu": 2}))),
            job("small", "a", 3),
        ],
    )
    assert names(decide(core, rules_named(["kueue"]), 0)) == ["small"]
