"""Victims by what LocalQueues used lately: Kueue's CandidatesOrdering (pkg/scheduler/preemption/common/ordering.go).

Of two victims of one ClusterQueue with an `admissionScope`, that of the LocalQueue with more usage goes first, whatever
their priorities. Victims of different ClusterQueues are compared without usage.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import NS, job, queue, running, state
from tests.queue.python_rules import KueueRules
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.events import DefinitionChanged, WorkloadChanged
from webhook.queue.model import ClusterQueue, History, LocalQueue, Preemption, Workload
from webhook.queue.quota.usage_by_owner import USAGE_BASED
from webhook.queue.rules import Rules

USED = {"heavy": 100.0, "light": 1.0, "idle": 0.0}
"""What the LocalQueues of `a` used lately; there are those of `b` as well, named after their ClusterQueue first."""
OWN = Preemption("LowerPriority", "Any")
KINDS = [
    pytest.param(KueueRules(), id="python"),
    pytest.param(KueueRules(fair=True), id="python-fair"),
    pytest.param(rules_named(["kueue"]), id="kueue"),
    pytest.param(rules_named(["kueue-fair"]), id="kueue-fair"),
]


def holds(name: str, line: str, priority: int, since: int, owner: str = "a") -> Workload:
    """A workload that holds one unit of the ClusterQueue `owner` by the LocalQueue `line`."""
    return replace(running(name, owner, since=since, priority=priority), queue_name=line)


def preempted(rules: Rules, queues: list[ClusterQueue], work: list[Workload], asked: int) -> set[str]:
    """Whom a job of priority 100 in the LocalQueue `a` preempts."""
    core = state(queues, work)
    for owner in {q.name for q in queues}:
        for name, used in USED.items():
            line = name if owner == "a" else f"{owner}-{name}"
            core.apply(DefinitionChanged(LocalQueue(NS, line, owner, history=History(0, {"gpu": used}))))
    core.apply(WorkloadChanged(job("j", "a", asked, priority=100)))
    return {p.workload.removeprefix(f"{NS}/") for p in decide(core, rules, 0, cycles=1).preempted}


@pytest.mark.parametrize("rules", KINDS)
@pytest.mark.parametrize(
    ("mode", "work", "asked", "victims"),
    [
        (USAGE_BASED, [holds("h", "heavy", 9, 1), holds("l", "light", 0, 2)], 1, {"h"}),
        ("", [holds("h", "heavy", 9, 1), holds("l", "light", 0, 2)], 1, {"l"}),
        ("NoAdmissionFairSharing", [holds("h", "heavy", 9, 1), holds("l", "light", 0, 2)], 1, {"l"}),
        (USAGE_BASED, [holds("h", "heavy", 9, 1), holds("g", "heavy", 0, 2)], 1, {"g"}),
        (USAGE_BASED, [holds("h", "light", 0, 1), holds("l", "idle", 0, 2), holds("k", "heavy", 0, 0)], 2, {"h", "k"}),
    ],
    ids=["usage-before-priority", "no-scope", "scope-without-usage", "within-one-local-queue", "usage-before-age"],
)
def test_in_its_own_queue(rules: Rules, mode: str, work: list[Workload], asked: int, victims: set[str]) -> None:
    """A full queue, and a job that needs some of it."""
    lines = [queue("a", len(work), admission_mode=mode, preemption=OWN)]
    assert preempted(rules, lines, work, asked) == victims


@pytest.mark.parametrize("rules", KINDS)
@pytest.mark.parametrize(
    ("mode", "asked", "victims"),
    [(USAGE_BASED, 1, {"h"}), ("", 1, {"l"}), (USAGE_BASED, 2, {"h", "l"})],
)
def test_in_another_queue(rules: Rules, mode: str, asked: int, victims: set[str]) -> None:
    """A queue that borrows has two LocalQueues: the scope of that queue counts, not that of the preemptor's."""
    work = [holds("h", "b-heavy", 9, 1, "b"), holds("l", "b-light", 0, 2, "b")]
    lines = [queue("a", 2, "co", preemption=OWN), queue("b", 0, "co", admission_mode=mode)]
    assert preempted(rules, lines, work, asked) == victims


@pytest.mark.parametrize("rules", KINDS)
def test_of_two_other_queues_priority_decides(rules: Rules) -> None:
    """What a LocalQueue used is not compared with that of another ClusterQueue."""
    work = [holds("h", "b-heavy", 9, 1, "b"), holds("l", "c-light", 0, 2, "c")]
    others = [queue(name, 0, "co", admission_mode=USAGE_BASED) for name in "bc"]
    assert preempted(rules, [queue("a", 2, "co", preemption=OWN), *others], work, 1) == {"l"}


@pytest.mark.parametrize("rules", KINDS)
def test_two_queues_are_merged_by_their_next_victims(rules: Rules) -> None:
    """`h` comes before `l` of its own queue. Classic preemption compares the next of each queue: `c` is below `h`.

    Fair sharing takes from the larger share first, and of two equal ones the lower next victim: `l` is below `c`.
    """
    work = [holds("h", "b-heavy", 9, 1, "b"), holds("l", "b-light", 0, 2, "b"), holds("c", "c-light", 5, 3, "c")]
    others = [queue(name, 0, "co", admission_mode=USAGE_BASED) for name in "bc"]
    assert preempted(rules, [queue("a", 3, "co", preemption=OWN), *others], work, 2) == (
        {"h", "l"} if rules.fair else {"c", "h"}
    )
