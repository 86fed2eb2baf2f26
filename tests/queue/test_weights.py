"""Weights count without preemption: who gets what is free is told by the shares, one job at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import NS, group, job, names, queue, state
from tests.queue.python_rules import KueueRules
from webhook.api.snapshot.queue_objects import weight
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.events import WorkloadGone
from webhook.queue.model import WEIGHT, Cohort, History, PodSet
from webhook.queue.rules import Rules

GPU = "nvidia.com/gpu"
SETS = {
    "python": KueueRules(fair=True),
    "kueue-fair": rules_named(["kueue-fair"]),
    "volcano-proportion": rules_named(["volcano-proportion"]),
}


@pytest.mark.parametrize("rules", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize(
    ("weights", "shares"), [((2, 1), (8, 4)), ((1, 1), (6, 6)), ((3, 1), (9, 3)), ((1, 5), (2, 10))]
)
def test_what_is_free_is_shared_by_weight(rules: Rules, weights: tuple[int, int], shares: tuple[int, int]) -> None:
    """Twelve units of a cohort, two queues that own nothing and ask for more than there is."""
    lines = [queue(n, 0, "co", weight=WEIGHT * w) for n, w in zip("ab", weights, strict=True)]
    cohort = Cohort("co", resource_groups=(group(("default", {"gpu": 12})),))
    work = [job(f"{n}{i}", n, queued_at=i) for n in "ab" for i in range(20)]
    started = names(decide(state(lines, work, [cohort]), rules, 0))
    assert (sum(n[0] == "a" for n in started), sum(n[0] == "b" for n in started)) == shares


@pytest.mark.parametrize(
    ("written", "billionths"), [("2", 2 * WEIGHT), ("0.0004", 400_000), ("333m", 333_000_000), ("1n", 1)]
)
def test_a_weight_is_as_exact_as_it_is_written(written: str, billionths: int) -> None:
    """Nothing is rounded to thousandths: 0.0004 is less than 0.0006, and four times 0.0001."""
    assert weight({"weight": written}) == billionths


@pytest.mark.parametrize("rules", [SETS["python"], SETS["kueue-fair"]], ids=["python", "kueue-fair"])
def test_small_weights_share_as_large_ones_do(rules: Rules) -> None:
    """0.0002 and 0.0001 are two to one; as thousandths both would be 0.001."""
    lines = [queue(n, 0, "co", weight=w) for n, w in (("a", 200_000), ("b", 100_000))]
    cohort = Cohort("co", resource_groups=(group(("default", {"gpu": 12})),))
    work = [job(f"{n}{i}", n, queued_at=i) for n in "ab" for i in range(20)]
    started = names(decide(state(lines, work, [cohort]), rules, 0))
    assert [sum(name[0] == n for name in started) for n in "ab"] == [8, 4]


def admitted_over_time(weights: tuple[int, int], cycles: int | None, past: float = 0.0) -> list[int]:
    """Sixty starts of two queues that ask for more than there is: each time the job that began first ends."""
    lines = [
        queue(n, 0, "co", weight=WEIGHT * w, resource_groups=(group(("default", {GPU: 0})),))
        for n, w in zip("ab", weights, strict=True)
    ]
    lines[0] = replace(lines[0], history=History(0, {GPU: past}, {"": {GPU: past}}))
    cohort = Cohort("co", resource_groups=(group(("default", {GPU: 6})),))
    pods = (PodSet("main", 1, {GPU: 1}),)
    work = [job(f"{n}{i:02}", n, queued_at=i, created=i, pod_sets=pods) for n in "ab" for i in range(80)]
    core, counts, runs = state(lines, work, [cohort]), [0, 0], list[str]()
    rules = rules_named(["by-weight"])
    for now in range(80):
        started = names(decide(core, rules, now, cycles=cycles))
        runs += started
        if now >= 20:
            counts = [count + sum(name[0] == n for name in started) for count, n in zip(counts, "ab", strict=True)]
        core.apply(WorkloadGone(f"{NS}/{runs.pop(0)}"))
    return counts


@pytest.mark.parametrize("cycles", [1, None], ids=["one head of each queue", "rounds"])
@pytest.mark.parametrize(("weights", "shares"), [((2, 1), (40, 20)), ((1, 1), (30, 30)), ((1, 5), (10, 50))])
def test_what_comes_free_goes_by_weight_without_preemption(
    cycles: int | None, weights: tuple[int, int], shares: tuple[int, int]
) -> None:
    """As `by-weight` says: two to one in starts, within a tenth, also where each queue shows one head in a cycle."""
    found = admitted_over_time(weights, cycles)
    assert all(abs(count - share) <= 4 for count, share in zip(found, shares, strict=True)), found


def test_history_decides_between_queues() -> None:
    """Of two queues of equal weight the one that used much lately starts less until that has faded."""
    mine, theirs = admitted_over_time((1, 1), 1, past=100.0)
    assert (mine, theirs) == (0, 60)
