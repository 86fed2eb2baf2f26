"""What a living queue core got wrong, one small cluster each: counted twice, not asked again, kept for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import NS, copy_of, group, job, names, queue, running, state
from tests.queue.load_rules import load_rules
from tests.queue.python_rules import KueueRules
from webhook.api.snapshot.reader import snapshot
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Reason
from webhook.queue.events import DefinitionChanged, DefinitionGone, WorkloadChanged, WorkloadGone
from webhook.queue.explain import explain, pending
from webhook.queue.model import Cohort, History, LocalQueue, PodSet, Preemption, Quota, Workload
from webhook.queue.quota.usage_by_owner import USAGE_BASED
from webhook.queue.rules import Rules
from webhook.queue.state import State

HOUR = 3_600_000
HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n"
CAPS = HEAD + "  extends: [kueue, user-caps]\n  parameters: {most: {gpu: 4}}\n"
BUDGET = HEAD + "  extends: [kueue, gpu-budget]\n  parameters: {gpu: gpu, most: 2.0}\n  history: {halfLife: 1h}\n"
WINDOW = HEAD + "  extends: [kueue, time-window]\n  parameters: {gpu: gpu, daytimeGPUs: 0}\n"
FAIR_ADMISSION = HEAD + "  extends: [kueue]\n  history: {halfLife: 1h, samplingInterval: 5m}\n"


def reason(core: State, name: str) -> Reason:
    """Why a job waits."""
    told = explain(core, f"{NS}/{name}")
    assert told is not None
    return told.reason


def test_usage_is_counted_once_however_often_definitions_and_rules_change() -> None:
    """Four edits of labels and a reload: four GPUs are four, and none when the job is gone."""
    core, rules = state([queue("a", 20)], [running("r", "a", 4, user="ann")]), load_rules(CAPS)
    decide(core, rules, 0)
    for number in range(4):
        edited = replace(core.cluster_queues["a"], labels={"edit": str(number)})
        core.apply(DefinitionChanged(edited))
        decide(core, rules, number)
    rules = load_rules(CAPS)
    core.apply(WorkloadChanged(job("j", "a", 1, user="ann")))
    decide(core, rules, 9)
    told = explain(core, f"{NS}/j")
    assert told is not None
    assert "uses 4 of 4" in told.message
    core.apply(WorkloadGone(f"{NS}/r"))
    assert names(decide(core, rules, 10)) == ["j"]


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_a_window_that_opens_starts_what_waited_for_it(strategy: str) -> None:
    """The core says when to ask again, and lets the job in at that hour: 8 o'clock on a Monday, and 20 o'clock."""
    monday = 4 * 24 * HOUR  # 1970-01-05
    core, rules = state([queue("a", 4, queueing_strategy=strategy)], [job("j", "a", 1)]), load_rules(WINDOW)
    at = monday + 8 * HOUR
    while not (made := decide(core, rules, at)).admitted:
        assert reason(core, "j") == Reason.DENIED_BY_RULE
        assert made.next_at is not None
        assert at < made.next_at <= at + HOUR
        at = made.next_at
    assert at == monday + 20 * HOUR


def test_a_budget_that_is_used_up_comes_back() -> None:
    """Two hours after the last GPU was given back a quarter of the mean is left, and the next job starts."""
    core, rules = state([queue("a", 8)], [running("r", "a", 8)]), load_rules(BUDGET)
    decide(core, rules, 0)
    core.apply(WorkloadChanged(job("j", "a", 1)))
    assert names(decide(core, rules, 5 * HOUR)) == []
    core.apply(WorkloadGone(f"{NS}/r"))
    at = 5 * HOUR
    while not (made := decide(core, rules, at)).admitted:
        assert made.next_at is not None
        at = made.next_at
    assert at == 7 * HOUR


def test_a_cap_is_looked_at_again_when_its_user_gives_back_anywhere() -> None:
    """The quota comes free in another cohort tree; who is denied for it is woken all the same, and nobody else."""
    held = running("r", "b", 4, user="ann")
    core = state([queue("a", 9, "one"), queue("b", 9, "two")], [held, job("j", "a", 2, user="ann")])
    rules = load_rules(CAPS)
    assert names(decide(core, rules, 0)) == []
    core.apply(WorkloadGone(f"{NS}/r"))
    assert names(decide(core, rules, 1)) == ["j"]


PREEMPTS_OWN = HEAD + "  preempt:\n    candidate: \"workload.user == 'ann' ? 'WithinQueue' : 'Never'\"\n"
HELD = HEAD + "  admit: [{expression: \"!('hold' in workload.labels)\", reason: Held}]\n"


@pytest.mark.parametrize(
    ("rules", "first", "second"),
    [(PREEMPTS_OWN, {"user": "bob"}, {"user": "ann"}), (HELD, {"labels": {"hold": "1"}}, {})],
    ids=["user in preempt.candidate", "labels in admit"],
)
def test_alike_is_only_who_the_rules_cannot_tell_apart(
    rules: str, first: dict[str, object], second: dict[str, object]
) -> None:
    """The head waits; one behind it of the same shape does better where a rule sees a difference."""
    queues = [queue("a", 4, preemption=Preemption("LowerPriority"))]
    work = [running("r", "a", 3), job("one", "a", 2, queued_at=1, **first), job("two", "a", 2, queued_at=2, **second)]
    core = state(queues, work if "user" in first else work[1:])
    made = decide(core, load_rules(rules), 0)
    assert names(made) == ["two"] or [p.preemptor for p in made.preempted] == [f"{NS}/two"]


def test_an_order_that_reads_the_time_is_asked_again() -> None:
    """Who has waited for an hour goes first; a living state starts the same job as one built then."""
    rules = load_rules(
        HEAD + "  order:\n    - now - timestamp(workload.queuedAt / 1000) < duration('1h')\n    - -workload.priority\n"
    )
    work = [running("r", "a", 1), job("old", "a", 1), job("high", "a", 1, priority=9, queued_at=HOUR)]
    core = state([queue("a", 1)], work)
    decide(core, rules, HOUR // 2)
    core.apply(WorkloadGone(f"{NS}/r"))
    assert names(decide(core, rules, HOUR + 1)) == ["old"]


def fair_admission(mode: str) -> tuple[State, Rules]:
    """Two LocalQueues of one ClusterQueue, of which `busy` used more lately."""
    core = state([queue("a", 1, admission_mode=mode)])
    used = History(HOUR, {"gpu": 9.0})
    core.apply(DefinitionChanged(LocalQueue(NS, "busy", "a", history=used)))
    core.apply(DefinitionChanged(LocalQueue(NS, "idle", "a")))
    core.apply(WorkloadChanged(job("older", "busy", 1, queued_at=1)))
    core.apply(WorkloadChanged(job("newer", "idle", 1, queued_at=2)))
    return core, load_rules(FAIR_ADMISSION)


def test_admission_scope_is_heeded() -> None:
    """Where a ClusterQueue asks for it the LocalQueue that used less goes first; elsewhere age counts."""
    assert names(decide(*fair_admission(USAGE_BASED), HOUR)) == ["newer"]
    assert names(decide(*fair_admission(""), HOUR)) == ["older"]


def test_what_was_used_lately_is_kept_over_a_restart() -> None:
    """Value and time of a LocalQueue stand in its status, by user; a state built from it goes on as the living one."""
    core, rules = state([queue("a", 9)], [running("r", "a", 4, user="ann")]), load_rules(BUDGET)
    decide(core, rules, 0)
    decide(core, rules, HOUR)
    core.apply(WorkloadGone(f"{NS}/r"))
    decide(core, rules, 2 * HOUR)
    (kept,) = (q.history for q in core.snapshot().local_queues)
    assert kept.at == 2 * HOUR
    assert kept.users.keys() == {"ann"}
    fresh = State.from_snapshot(core.snapshot())
    decide(fresh, rules, 2 * HOUR)
    for now in (2 * HOUR, 3 * HOUR):
        decide(core, rules, now)
        decide(fresh, rules, now)
        assert fresh.snapshot() == core.snapshot()


def test_a_status_that_another_wrote_is_taken_over() -> None:
    """A replica that takes the lead counts from what the last leader wrote, and not from its own older view."""
    core, rules = state([queue("a", 9)]), load_rules(BUDGET)
    decide(core, rules, 0)
    local = core.local_queues[f"{NS}/a"]
    core.apply(DefinitionChanged(replace(local, history=History(HOUR, {"gpu": 8.0}))))
    core.apply(WorkloadChanged(job("j", "a", 1)))
    assert names(decide(core, rules, HOUR)) == []


@pytest.mark.parametrize("amount", [10**21, 1 << 60, 1 << 63, 10**30])
def test_huge_quotas_saturate(amount: int) -> None:
    """`cpu: 1E`, or ten queues of `1Ei` in a cohort, leave every queue of the tree active, as in Kueue."""
    queues = [queue(f"q{i}", Quota(amount, lending_limit=amount, borrowing_limit=amount), "co") for i in range(10)]
    core = state(
        queues,
        [job("j", "q0", 3), running("r", "q1", 10**6)],
        [Cohort("co", resource_groups=queues[0].resource_groups)],
    )
    assert names(decide(core, rules_named(["kueue"]), 0)) == ["j"]
    assert not any(pending_queue.inactive for pending_queue in core.by_queue.values())
    core.apply(WorkloadChanged(running("huge", "q2", amount)))
    core.apply(WorkloadChanged(job("k", "q3", 3)))
    decide(core, rules_named(["kueue"]), 1)
    assert all(told.reason != Reason.RULE_FAILED for told in pending(core))


def test_jobs_that_are_gone_leave_nothing_behind() -> None:
    """After many jobs of many shapes, denied and admitted, deleted at any time, the state is as large as before."""
    core, rules = state([queue("a", 4)], [running("r", "a", 4)]), load_rules(CAPS)
    for number in range(400):
        core.apply(WorkloadChanged(job(f"j{number}", "a", 1 + number % 9, user=f"u{number % 50}")))
        if number % 3 == 0:
            decide(core, rules, number)
        if number >= 20:
            core.apply(WorkloadGone(f"{NS}/j{number - 20}"))
    for number in range(380, 400):
        core.apply(WorkloadGone(f"{NS}/j{number}"))
    decide(core, rules, 999)
    pending_queue = core.by_queue["a"]
    assert not pending_queue.classes
    assert not pending_queue.lanes
    assert not pending_queue.parked
    assert not core.changes.denied
    assert not core.changes.by_owner
    assert core.entries.keys() == {f"{NS}/r"}
    assert list(pending(core)) == []


def test_deep_places_in_a_heap_are_given_up() -> None:
    """Who leaves from behind a head that never moves takes its place in the heap along."""
    core = state([queue("a", 4)], [running("r", "a", 4), job("head", "a", 1, priority=9)])
    rules = KueueRules()
    for number in range(2_000):
        core.apply(WorkloadChanged(job(f"j{number}", "a", 1, priority=9, queued_at=number + 1)))
        core.apply(WorkloadGone(f"{NS}/j{number}"))
    decide(core, rules, 1)
    (equivalence,) = core.by_queue["a"].classes.values()
    assert len(equivalence.heap) < 50


def test_an_edit_touches_its_own_tree_only() -> None:
    """A quota that is edited builds one tree; what waits there keeps its place, and the other tree is not looked at."""
    work = [running("r", "a", 4), job("j", "a", 3), running("s", "b", 4), job("k", "b", 3)]
    core, rules = state([queue("a", 4), queue("b", 4)], work), KueueRules()
    decide(core, rules, 0)
    entry, tree = core.entries[f"{NS}/j"], core.by_queue["b"].node.tree
    place = entry.seq
    core.apply(DefinitionChanged(queue("a", 9)))
    assert names(decide(core, rules, 1)) == ["j"]
    assert core.by_queue["b"].node.tree is tree
    assert place >= 0
    assert core.by_queue["b"].parked


def test_a_queue_that_goes_and_comes_back_takes_its_work_again() -> None:
    """Its workloads are told as misconfigured meanwhile, those with quota of it as well, and nobody is forgotten."""
    core, rules = state([queue("a", 4)], [running("r", "a", 3), job("j", "a", 4)]), KueueRules()
    decide(core, rules, 0)
    core.apply(DefinitionGone(type(core.cluster_queues["a"]), "a"))
    decide(core, rules, 1)
    assert {(p.workload, p.reason) for p in pending(core)} == {
        (f"{NS}/j", Reason.MISCONFIGURED),
        (f"{NS}/r", Reason.MISCONFIGURED),
    }
    core.apply(DefinitionChanged(queue("a", 4)))
    decide(core, rules, 2)
    assert [p.workload for p in pending(core)] == [f"{NS}/j"]
    assert core.trees[0].usage == [3]


def test_quota_on_a_flavor_that_is_gone_is_told() -> None:
    """A running workload on a flavor that its queue has no more holds nothing, and the answer says so."""
    core, rules = state([queue("a", 4)], [running("r", "a", 3)]), KueueRules()
    core.apply(DefinitionChanged(queue("a", resource_groups=(group(("other", {"gpu": 4})),))))
    decide(core, rules, 0)
    (told,) = pending(core)
    assert told.workload == f"{NS}/r"
    assert "default" in told.message


@pytest.mark.parametrize("name", ["stopped-gpus", "not active"])
def test_reasons_are_no_words_of_messages(name: str) -> None:
    """A LocalQueue may have any name: that it is not there stays a misconfiguration."""
    core = state([queue("a", 4)], [job("j", name)])
    decide(core, KueueRules(), 0)
    assert reason(core, "j") == Reason.MISCONFIGURED


def test_ties_go_by_creation_then_by_name() -> None:
    """Workloads of the same second go by what a user can see, and not by their random uids."""
    work = [job("b", "a", uid="1"), job("a", "a", uid="2"), job("c", "a", uid="0", created=-1)]
    core = state([queue("a", 1)], work)
    assert names(decide(core, rules_named(["kueue"]), 0)) == ["c"]
    core.apply(WorkloadGone(f"{NS}/c"))
    assert names(decide(core, rules_named(["kueue"]), 0)) == ["a"]


def test_ties_between_queues_go_by_arrival() -> None:
    """Where two queues of a cohort ask for the same in one second, who came first gets it, whatever the names are."""
    work = [job("a", "a", arrival="2"), job("z", "z", arrival="1")]
    core = state([queue("a", 0, cohort="c"), queue("z", 0, cohort="c"), queue("spare", 1, cohort="c")], work)
    assert names(decide(core, rules_named(["kueue"]), 0)) == ["z"]


def test_a_copy_has_the_same_memory() -> None:
    """What is parked stays parked in a copy, with its reason, and the copy goes its own way."""
    core, rules = state([queue("a", 4)], [running("r", "a", 3), job("j", "a", 2)]), KueueRules()
    decide(core, rules, 0)
    copied = copy_of(core)
    assert list(pending(copied)) == list(pending(core))
    assert decide(copied, rules, 1).waiting == ()
    copied.apply(WorkloadGone(f"{NS}/r"))
    assert names(decide(copied, rules, 2)) == ["j"]
    assert core.entries[f"{NS}/j"].equivalence is not None


def test_a_copy_rests_where_its_state_does() -> None:
    """A strict head is explained by the numbers that it was looked at with, in a copy as in the state itself."""
    both = {"gpu": 4, "cpu": 4}
    core = state(
        [
            queue("a", cohort="left", queueing_strategy="StrictFIFO", resource_groups=(group(("default", both)),)),
            queue("b", cohort="left", resource_groups=(group(("default", both)),)),
        ],
        [
            job("strict", "a", pod_sets=(PodSet("main", 1, {"gpu": 8, "cpu": 20}),)),
            job("large", "b", pod_sets=(PodSet("main", 1, {"gpu": 6}),)),
        ],
    )
    rules = rules_named(["kueue"])
    assert names(decide(core, rules, 0)) == ["large"]
    copied = copy_of(core)
    decide(copied, rules, 1)
    assert list(pending(copied)) == list(pending(core))
    anew = copy_of(core)
    anew.ready.update(dict.fromkeys(anew.trees))
    assert decide(anew, rules, 1).waiting == (f"{NS}/strict",)


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_a_copy_asks_again_when_its_state_does(strategy: str) -> None:
    """Who was denied until a window opens is asked then, in a copy too, also where he stays in front."""
    core, rules = state([queue("a", 4, queueing_strategy=strategy)], [job("j", "a", 1)]), load_rules(WINDOW)
    made = decide(core, rules, 4 * 24 * HOUR + 8 * HOUR)
    assert made.next_at is not None
    assert decide(copy_of(core), rules, 4 * 24 * HOUR + 8 * HOUR).next_at == made.next_at


def test_who_moves_to_another_queue_is_told_its_numbers() -> None:
    """A LocalQueue points to another ClusterQueue: what was found of its work in the old one holds there only."""
    core = state(
        [queue("a", 4), queue("b", 8, queueing_strategy="StrictFIFO")],
        [
            running("ra", "a", 3),
            running("rb", "b", 8),
            job("first", "b", 8),
            job("stays", "a", 2),
            job("moves", "c", 2),
        ],
    )
    core.apply(DefinitionChanged(LocalQueue(NS, "c", "a")))
    rules = rules_named(["kueue"])
    decide(core, rules, 0)
    core.apply(DefinitionChanged(LocalQueue(NS, "c", "b")))
    decide(core, rules, 1)
    told = {p.workload.partition("/")[2]: p for p in pending(core)}
    assert (told["moves"].cluster_queue, told["moves"].reason, told["moves"].position) == ("b", Reason.BEHIND_HEAD, 2)
    (shortage,) = told["stays"].shortages
    assert (shortage.flavor, shortage.asked, shortage.free) == ("default", 2, 1)


def test_arrival_tells_apart_jobs_of_one_second() -> None:
    """A Workload's annotation has the version of its job: of two of one second the one that came first goes first."""

    def read(name: str, version: str) -> Workload:
        metadata = {
            "name": name,
            "namespace": NS,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"sluice.dev/arrival": f"2026-01-01T00:00:00Z {version}"},
        }
        pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}
        spec = {"queueName": "a", "podSets": [pods]}
        obj = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata, "spec": spec}
        return snapshot([obj]).workloads[0]

    core = state([queue("a", 1)], [read("a", "1000"), read("b", "999")])
    decide(core, KueueRules(), 0)
    one, other = (core.entries[f"{NS}/{name}"].rank for name in ("b", "a"))
    assert one < other


def test_facts_are_copied_only_where_usage_is_counted() -> None:
    """Whoever asks what would be gets the definitions as they are, unless the rules count what was used lately."""
    for written, same in ((CAPS, True), (BUDGET, False)):
        core, rules = state([queue("a", 20)], [running("r", "a", 4, user="ann")]), load_rules(written)
        decide(core, rules, 0)
        facts = core.defined(())
        assert (core.accounting.kept(facts) is facts) is same
