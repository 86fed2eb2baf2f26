"""Corners of Kueue's rules that an engine gets wrong without anybody noticing: one small cluster each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import NS, group, job, names, queue, running, snapshot, state
from tests.queue.living import rules_of
from tests.queue.load_rules import load_rules
from tests.queue.python_rules import KueueRules
from webhook.offline.plan.make_plan import make_plan
from webhook.offline.plan.output import outcome
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.events import DefinitionChanged, DefinitionGone, WorkloadChanged, WorkloadGone
from webhook.queue.explain import pending
from webhook.queue.model import (
    WEIGHT,
    AdmissionCheck,
    AdmissionChecksStrategy,
    AdmissionCheckUse,
    Cohort,
    Flavor,
    Fungibility,
    LocalQueue,
    Namespace,
    PodSet,
    Quota,
    Requirement,
    ResourceQuota,
    Selector,
    StopPolicy,
    Taint,
)
from webhook.queue.quota.tree import Tree
from webhook.queue.report import Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State

RULES = KueueRules()
SPOT = Flavor("spot", node_taints=(Taint("spot"),))
STEADY = Flavor("steady")


def told(core: State, name: str) -> tuple[PendingPlace, Reason]:
    """Where a pending job stands, and why."""
    found = {p.workload: p for p in pending(core)}[f"{NS}/{name}"]
    return found.place, found.reason


@pytest.mark.parametrize("cycles", [None, 1])
def test_who_waits_for_a_workload_of_another_queue_is_woken(cycles: int | None) -> None:
    """Its LocalQueue leads nowhere by now, what it holds is of this queue. Kueue looks at its LocalQueue alone."""
    holder = replace(running("holder", "a", 4), queue_name="nowhere")
    core = state([queue("a", 4)], [holder, job("low", "a", 4)])
    assert names(decide(core, RULES, 0, cycles=cycles)) == []
    core.apply(WorkloadChanged(job("high", "a", 3, priority=9)))
    assert names(decide(core, RULES, 1, cycles=cycles)) == []
    core.apply(WorkloadGone(f"{NS}/holder"))
    assert names(decide(core, RULES, 2, cycles=cycles)) == ["high"]


def test_a_pod_set_of_no_pods_takes_a_flavor_where_one_could_run() -> None:
    """Pods that are all done, or not yet there, do not fix a workload on a flavor too small for one of them."""
    tiers = group(("small", {"gpu": 2}), ("large", {"gpu": 8}))
    empty = PodSet("workers", 0, {"gpu": 4})
    (admitted,) = decide(
        state([queue("a", resource_groups=(tiers,))], [job("j", "a", pod_sets=(empty,))]), RULES, 0
    ).admitted
    assert dict(admitted.pod_sets[0].flavors) == {"gpu": "large"}


def test_a_pod_set_of_no_pods_never_waits() -> None:
    """Where no flavor could hold one of its pods, it takes the first all the same: it asks for nothing."""
    empty = PodSet("workers", 0, {"gpu": 99})
    assert names(decide(state([queue("a", 2)], [job("j", "a", pod_sets=(empty,))]), RULES, 0)) == ["j"]


def test_nothing_may_be_asked_of_a_queue_that_owes() -> None:
    """A request for 0 fits in a queue whose quota was cut below its usage, and evicts nobody."""
    none = PodSet("main", 1, {"gpu": 0})
    core = state([queue("a", 2)], [running("old", "a", 5), job("j", "a", pod_sets=(none,), priority=9)])
    made = decide(core, RULES, 0)
    assert names(made) == ["j"]
    assert made.preempted == ()


def test_pods_that_ask_for_nothing_are_not_checked() -> None:
    """A check without `onFlavors` is for each flavor of the queue, and they have none."""
    checks = AdmissionChecksStrategy((AdmissionCheckUse("budget"),))
    nothing = PodSet("main", 1, {})
    whole = snapshot(
        [queue("a", 2, admission_checks_strategy=checks)], [job("j", "a", pod_sets=(nothing,)), job("k", "a")]
    )
    core = State.from_snapshot(replace(whole, checks=(AdmissionCheck("budget"),)))
    assert {a.workload: a.admitted for a in decide(core, RULES, 0).admitted} == {f"{NS}/j": True, f"{NS}/k": False}


def test_a_pod_set_that_found_its_flavor_is_no_reason_to_wait() -> None:
    """The taint that the first pod set got round does not hide that the second waits for quota."""
    tiers = group(("spot", {"gpu": 4}), ("steady", {"gpu": 4, "cpu": 4}))
    cpus = group(("big", {"cpu": 4}))
    sets = (PodSet("one", 1, {"gpu": 1}), PodSet("two", 1, {"cpu": 9}))
    flavors = [SPOT, STEADY, Flavor("big")]
    core = state([queue("a", resource_groups=(tiers, cpus))], [job("j", "a", pod_sets=sets)], flavors=flavors)
    assert names(decide(core, RULES, 0)) == []
    assert told(core, "j") == (PendingPlace.INADMISSIBLE, Reason.EXCEEDS_MAX_QUOTA)


def test_a_search_that_failed_as_a_whole_leaves_no_flavor_to_try() -> None:
    """One group's search ended early, another group of the same pods has nothing: the pods have no flavor at all."""
    tiers = group(("one", {"gpu": 4}), ("two", {"gpu": 4}))
    cpus = group(("big", {"cpu": 4}))
    both = PodSet("main", 1, {"cpu": 9, "gpu": 1})
    lines = [queue("a", resource_groups=(tiers, cpus), fungibility=Fungibility("MayStopSearch", "MayStopSearch"))]
    core = state(lines, [job("j", "a", pod_sets=(both,))])
    decide(core, RULES, 0)
    assert told(core, "j")[0] == PendingPlace.INADMISSIBLE


def test_what_is_held_back_never_frees_the_cohort() -> None:
    """A queue above its limits holds less than nothing back for its head; its parent does not hear of that."""
    core = state([queue("a", Quota(4, 2), "co"), queue("b", 4, "co")], [running("r", "a", 7)])
    core.bind(RULES)
    tree: Tree = core.trees[0]
    node = next(n for n in tree.nodes if n.name == "a")
    before = tree.usage[tree.root.base]
    tree.add(node, [(0, -1)], tree.usage)
    assert tree.usage[tree.root.base] == before == 7
    assert tree.usage[node.base] == 6


def test_queues_under_a_circle_of_cohorts_wait() -> None:
    """Who lends to whom is not known under cohorts that are each other's parents, so nothing starts there."""
    circle = [Cohort("x", "y"), Cohort("y", "x")]
    core = state([queue("a", 4, "x"), queue("b", 4)], [job("j", "a"), job("k", "b")], circle)
    assert names(decide(core, RULES, 0)) == ["k"]
    assert told(core, "j")[1] == Reason.SUSPENDED


def test_nothing_is_parked_in_a_stopped_queue() -> None:
    """A stopped queue is not looked at: its work stays in order, and goes on when it opens again."""
    core = state([queue("a", 4, stop_policy=StopPolicy.HOLD)], [job("j", "a"), job("k", "a")])
    decide(core, RULES, 0)
    assert told(core, "j") == told(core, "k") == (PendingPlace.ACTIVE, Reason.SUSPENDED)


def test_an_answer_has_the_reasons_of_kueue() -> None:
    """Behind the head of a strict queue is our word; Kueue says only that the workload was not looked at."""
    work = [job("big", "a", 9, queued_at=1), job("small", "a", 1, queued_at=2)]
    core = state([queue("a", 4, queueing_strategy="StrictFIFO")], work)
    made = outcome(make_plan(core.snapshot(), RULES, 0, cycles=1))
    assert made["pendingDetail"][f"{NS}/small"]["reason"] == "PendingEvaluation"


def test_weights_divide_shares_exactly() -> None:
    """A weight of one leaves a share as it is, to the last bit, so that equal shares stay equal."""
    third = RULES.ratio(1, 3)
    assert RULES.share(third, WEIGHT, True) == third
    assert RULES.share(third, WEIGHT // 2, True) == third * 2


def test_a_namespace_that_changes_builds_no_tree_again() -> None:
    """Its labels let a job in at once, and its ResourceQuotas, which change with every pod, cost no rebuild."""
    picky = Selector((Requirement("team", "In", ("x",)),))
    core = state([queue("a", 9, namespace_selector=picky)], [job("j", "a")])
    rules = KueueRules()
    assert names(decide(core, rules, 0)) == []
    trees = core.trees
    core.apply(DefinitionChanged(Namespace(NS, quotas=(ResourceQuota("q", {"pods": 9}, {"pods": 1}),))))
    assert names(decide(core, rules, 1)) == []
    core.apply(DefinitionChanged(Namespace(NS, labels={"team": "x"})))
    assert names(decide(core, rules, 2)) == ["j"]
    assert core.trees is trees


class Looks(Reporter):
    """The heads whose flavors were searched."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    def considered(self, workload: str, cluster_queue: str) -> None:
        """Write a head down."""
        self.heads.append(workload)


READS_QUOTAS = """
apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: quotas}
spec:
  extends: [kueue]
  admit: [{expression: "facts.namespace.quotas.all(q, q.used['pods'] < 9)", reason: Full}]
"""


@pytest.mark.parametrize(
    ("rules", "quotas", "labels"),
    [
        (rules_of("kueue", ()), [], [f"{NS}/j"]),
        (rules_of("kueue-fair", ()), [], [f"{NS}/j"]),
        (load_rules(READS_QUOTAS), [f"{NS}/j"], [f"{NS}/j"]),
    ],
    ids=["kueue", "kueue-fair", "reads-the-namespace"],
)
def test_a_namespace_wakes_only_whom_it_concerns(
    rules: Rules, quotas: list[str], labels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status of a ResourceQuota changes with every pod: nobody is looked at again whose rules do not read it.

    Nor does a workload outside of the queues enter again, as it waits for a queue, not for a namespace.
    """
    core = state([queue("a", 4)], [running("r", "a", 4), job("j", "a"), job("off", "a", active=False)])
    decide(core, rules, 0)
    entered: list[str] = []
    monkeypatch.setattr(State, "enter", lambda _, entry: entered.append(entry.key))
    for now, (change, expected) in enumerate(
        [
            (Namespace(NS, quotas=(ResourceQuota("q", {"pods": 9}, {"pods": 1}),)), quotas),
            (Namespace(NS, {"team": "x"}, quotas=(ResourceQuota("q", {"pods": 9}, {"pods": 1}),)), labels),
        ],
        start=1,
    ):
        looks = Looks()
        core.apply(DefinitionChanged(change))
        decide(core, rules, now, looks)
        assert looks.heads == expected
    assert entered == []


def test_a_time_that_was_set_often_is_kept_once() -> None:
    """Each edit of a queue asks the `evict` rules again about all that run there; a deadline in a month is one time."""
    core = state([queue("a")], [running(f"w{n}", "a", deadline=10**9) for n in range(3)])
    for number in range(200):
        core.apply(DefinitionChanged(queue("a", labels={"edit": str(number)})))
        core.apply(WorkloadChanged(running("passing", "a", deadline=2 * 10**9)))
        assert decide(core, RULES, number).next_at == 10**9
        core.apply(WorkloadGone(f"{NS}/passing"))
    assert len(core.evictions.passed(10**10)) < 30


def test_who_is_admitted_as_the_local_queue_goes_is_not_charged_for_ever() -> None:
    """A replica may hear of both at once: without the queue there is no decayed usage that could fade."""
    rules = rules_of("kueue", ("gpu-budget",))
    core = state([queue("a")], [job("w", "a", user="ann")])
    core.bind(rules)
    core.apply(DefinitionGone(LocalQueue, f"{NS}/a"))
    core.apply(WorkloadChanged(running("w", "a", user="ann")))
    core.bind(rules)
    assert core.accounting.locals.read([f"{NS}/a"], "ann", 0, rules) == {}
