"""Which requests can never be admitted: only those that no choice of flavors holds in an empty tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.queue.build import FLAVOR, group, job, names, queue, running, state
from tests.queue.python_rules import KueueRules
from tests.queue.random_clusters import definitions, workloads
from tests.queue.test_laws import MANY, both, with_work
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Shortage
from webhook.queue.model import ClusterQueue, Flavor, PodSet, Quota, ResourceGroup, Snapshot, Workload
from webhook.queue.pending.impossible import MOST_TRIES, holds_all, impossible
from webhook.queue.rules import Rules
from webhook.queue.state import State

RULES = KueueRules()
TWO = group(("one", {"gpu": 8, "cpu": 4}), ("two", {"gpu": 4, "cpu": 4}))
WIDE = group(("one", {"gpu": 8}), ("two", {"gpu": 8}))


def pods(*each: dict[str, int]) -> tuple[PodSet, ...]:
    """One pod set of one pod for each request."""
    return tuple(PodSet(f"set-{index}", 1, requests) for index, requests in enumerate(each))


def never(core: State, work: Workload, rules: Rules = RULES) -> tuple[Shortage, ...] | None:
    core.bind(rules)
    pending_queue = core.by_queue[work.queue_name]
    return impossible(pending_queue, work, core.plan(work, pending_queue), rules)


@pytest.mark.parametrize(
    ("groups", "pod_sets", "asked"),
    [
        ((group((FLAVOR, {"gpu": 8})),), pods({"gpu": 8}), None),
        ((group((FLAVOR, {"gpu": 8})),), pods({"gpu": 9}), [(9, 8, "")]),
        ((group((FLAVOR, {"gpu": 8})),), pods({"gpu": 6}, {"gpu": 2}), None),
        ((group((FLAVOR, {"gpu": 8})),), pods({"gpu": 6}, {"gpu": 6}), [(12, 8, "")]),
        ((group((FLAVOR, {"gpu": 8})),), pods({"tpu": 1}), [(0, 0, "resource tpu unavailable in ClusterQueue")]),
        ((WIDE,), pods({"gpu": 6}, {"gpu": 6}), None),
        ((WIDE,), pods({"gpu": 6}, {"gpu": 6}, {"gpu": 3}), [(9, 8, ""), (9, 8, "")]),
        ((group(("one", {"gpu": 8, "cpu": 1}), ("two", {"gpu": 1, "cpu": 8})),), pods({"gpu": 2, "cpu": 2}), "any"),
        ((group(("one", {"gpu": 8})), group(("two", {"cpu": 8}))), pods({"gpu": 8, "cpu": 8}), None),
        ((group((FLAVOR, {"gpu": 8})),), (PodSet("main", 9, {"gpu": 1}, min_count=8),), None),
        ((group((FLAVOR, {"gpu": 8})),), (PodSet("main", 12, {"gpu": 1}, min_count=9),), [(9, 8, "")]),
    ],
    ids=[
        "all",
        "too much",
        "two that fit together",
        "two that do not",
        "not covered",
        "one on each flavor",
        "a third too many",
        "no flavor with both",
        "two groups",
        "fewer pods",
        "too many fewest pods",
    ],
)
def test_what_a_queue_can_never_give(
    groups: tuple[ResourceGroup, ...], pod_sets: tuple[PodSet, ...], asked: Sequence[tuple[int, int, str]] | str | None
) -> None:
    """Its pod sets are counted together, with the fewest pods, whatever is in use."""
    found = never(state([queue("a", resource_groups=groups)]), job("j", "a", pod_sets=pod_sets))
    if asked == "any":
        assert found
    else:
        assert (None if found is None else [(s.asked, s.most, s.note) for s in found]) == asked


def test_another_flavor_may_be_taken_than_the_first_that_fits() -> None:
    """The first pod set would take flavor one, where the second would not fit then; on flavor two it leaves it room."""
    work = job("j", "a", pod_sets=pods({"gpu": 4, "cpu": 4}, {"gpu": 6}))
    core = state([queue("a", resource_groups=(TWO,))], [job("busy", "a", pod_sets=pods({"cpu": 1})), work])
    assert never(core, work) is None
    assert names(decide(core, RULES, 0)) == ["busy", "j"]


@pytest.mark.parametrize(
    ("mine", "others", "possible"),
    [(Quota(2), Quota(8), True), (Quota(2, 3), Quota(8), False), (Quota(2), Quota(8, None, 3), False)],
    ids=["lent", "limit of borrowing", "limit of lending"],
)
@both
def test_what_a_cohort_lends_counts(rules: KueueRules, mine: Quota, others: Quota, possible: bool) -> None:
    """Also while others hold it: they may give it back."""
    queues = [queue("a", mine, "all"), queue("b", others, "all")]
    core = state(queues, [running("r", "b", 8)])
    assert (never(core, job("j", "a", 10), rules) is None) is possible


@pytest.mark.parametrize(
    ("line", "flavors", "work"),
    [
        (queue("a", stop_policy="Hold"), [Flavor(FLAVOR)], job("j", "a", 99)),
        (queue("a"), [], job("j", "a", 99)),
        (queue("a"), [Flavor(FLAVOR)], replace(job("j", "a", 99), problem="topology is not supported")),
    ],
    ids=["stopped", "without its flavor", "not supported"],
)
def test_what_an_object_can_change_is_not_for_ever(line: ClusterQueue, flavors: list[Flavor], work: Workload) -> None:
    """An inactive queue says nothing about a request, and neither does a request that is not read in full."""
    assert never(state([line], flavors=flavors), work) is None


def test_a_request_of_too_many_choices_counts_as_possible() -> None:
    """The time for an answer is bounded."""
    flavors = [[(f"flavor-{at}", 3)] for at in range(8)]
    options = [flavors] * 17
    assert len(flavors) ** 8 > MOST_TRIES
    assert holds_all(options, lambda _: 6)
    assert not holds_all([*options, [[("flavor-0", 7)]]], lambda _: 6)


@both
@MANY
@given(world=definitions(), work=workloads(), moved=st.integers(0, 2))
def test_what_is_admitted_was_never_impossible(
    rules: KueueRules, world: Snapshot, work: list[Workload], moved: int
) -> None:
    """In no cluster is a workload admitted of which it was said that it can never be."""
    core = with_work(world, work)
    core.bind(rules)
    said = {w.key for w in work if w.queue_name in core.by_queue and never(core, w, rules) is not None}
    for cycle in range(moved + 1):
        admitted = {a.workload for a in decide(core, rules, cycle).admitted}
        assert not admitted & said
