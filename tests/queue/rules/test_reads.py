"""What the rules say they read: the core's own names, never too few."""

from __future__ import annotations

import pytest

from tests.queue.load_rules import load_rules
from tests.queue.python_rules import READS
from webhook.policy.queue_rules.files import rules_named

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n"


@pytest.mark.parametrize(
    ("order", "reads", "clock"),
    [
        ("workload.queuedAt", {"workload.queued_at"}, 0),
        ("workload.labels[?'a'].orValue('')", {"workload.labels"}, 0),
        ("workload.labels.a", {"workload.labels"}, 0),
        ("queue.preemption.withinClusterQueue", {"queue.preemption"}, 0),
        ("workload.podSets.map(p, p.count)[0]", {"workload.pod_sets"}, 0),
        ("workload.podSets.map(queue, queue.count)[0]", {"workload.pod_sets"}, 0),
        ("usage * 2.0", {"usage"}, 0),
        ("now - timestamp('2026-01-01T00:00:00Z')", {"now"}, 1),
        ("now.getHours()", {"now"}, 900_000),
        ("now.getHours() + now.getMinutes()", {"now"}, 60_000),
        ("[now].map(t, t.getHours())[0]", {"now"}, 1),
        ("[workload] == [workload] ? 1 : 2", {"workload"}, 0),
        ("parameters.workload", set(), 0),
    ],
)
def test_fields_have_the_names_of_the_core(order: str, reads: set[str], clock: int) -> None:
    """A field, through maps, lists and macros; a whole argument; the time, and how finely it is read."""
    rules = load_rules(
        HEAD + f"  parameters: {{workload: 1}}\n  strict: parameters.workload == 1\n  order: [{order!r}]\n"
    )
    assert rules.reads["order"] == reads
    assert rules.clock.get("order", 0) == clock


def test_conditions_of_all_files_are_read() -> None:
    """`admit` reads what the conditions and their messages of every file read."""
    rules = rules_named(["user-caps", "time-window", "gpu-budget"])
    wanted = {"workload.user", "facts.user_workloads", "workload.labels", "now", "facts.namespace_history"}
    assert wanted <= rules.reads["admit"]
    assert rules.clock["admit"] == 900_000


@pytest.mark.parametrize("point", READS)
def test_the_twin_in_python_reads_what_the_file_reads(point: str) -> None:
    """Kueue's rules in Python say the same of workloads as the shipped file does, or more."""
    known = READS[point]
    for read in rules_named(["kueue-fair" if point == "tournament" else "kueue"]).reads[point]:
        assert any(read == mine or read.startswith(f"{mine}.") for mine in known), read
