"""What must give its quota back is ruled by files: reasons that add up, replace each other, and say when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import NS, copy_of, job, names, queue, running, state
from tests.queue.load_rules import load_rules
from tests.queue.python_rules import KueueRules
from webhook.api.snapshot.reader import snapshot
from webhook.documents import read
from webhook.offline.plan.make_plan import make_plan
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Evicted
from webhook.queue.events import DefinitionChanged, WorkloadChanged
from webhook.queue.explain import pending
from webhook.queue.model import AdmissionCheck, AdmissionChecksStrategy, AdmissionCheckUse, LocalQueue, Requeueing
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.queue.virtual_time import VirtualTime

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n"
HOUR = 3_600_000
CHECKED = AdmissionChecksStrategy((AdmissionCheckUse("budget"),))
OVERDUE = """
  evict:
    - reason: LongerThanSaid
      expression: workload.runTime != null && workload.admission != null
      notBefore: workload.admission.reservedAt + workload.runTime
      messageExpression: "'it said it runs for ' + string(workload.runTime / 1000) + ' s'"
"""


def rules(spec: str) -> Rules:
    return load_rules(read(HEAD + spec, "rules.yaml"))


def evicted(*workloads: object, by: Rules, at: int = 0, **of_queue: object) -> list[tuple[str, str]]:
    """Who must go, and why."""
    core = state([queue("a", 9, **of_queue)], list(workloads))
    return [(e.workload.partition("/")[2], e.reason) for e in decide(core, by, at).evicted]


@pytest.mark.parametrize("by", [rules_named(["kueue"]), KueueRules()], ids=["file", "python"])
@pytest.mark.parametrize(
    ("facts", "of_queue", "reason"),
    [
        ({}, {}, None),
        ({"active": False}, {}, "Deactivated"),
        ({"deadline": 10}, {}, "DeactivatedDueToMaximumExecutionTimeExceeded"),
        ({"deadline": 11}, {}, None),
        ({"checks": {"a": "Pending", "b": "Retry"}}, {}, "AdmissionCheck"),
        ({"checks": {"a": "Rejected"}}, {}, "AdmissionCheck"),
        ({"checks": {"a": "Pending", "b": "Ready"}}, {}, None),
        ({}, {"stop_policy": "HoldAndDrain"}, "ClusterQueueStopped"),
        ({}, {"stop_policy": "Hold"}, None),
        ({"admitted": False}, {"stop_policy": "HoldAndDrain", "admission_checks_strategy": CHECKED}, None),
        ({"admitted": False, "active": False}, {"stop_policy": "HoldAndDrain"}, "Deactivated"),
        ({"active": False, "deadline": 1, "checks": {"a": "Retry"}}, {}, "Deactivated"),
    ],
)
def test_what_kueue_evicts(by: Rules, facts: dict, of_queue: dict, reason: str | None) -> None:
    """The shipped file and the rules in Python say the same, the first reason first."""
    found = evicted(replace(running("w", "a"), **facts), by=by, at=10, **of_queue)
    assert found == ([("w", reason)] if reason else [])


def test_a_drained_local_queue_sends_its_own_work_away() -> None:
    """The rule sees the LocalQueue, and is asked when it changes."""
    core = state([queue("a", 4), queue("b", 4)], [running("mine", "a"), running("other", "b")])
    assert decide(core, rules_named(["kueue"]), 0).evicted == ()
    core.apply(DefinitionChanged(LocalQueue(NS, "a", "a", stop_policy="HoldAndDrain")))
    assert decide(core, rules_named(["kueue"]), 1).evicted == (Evicted(f"{NS}/mine", "a", "LocalQueueStopped"),)


@pytest.mark.parametrize("by", [rules_named(["kueue"]), KueueRules()], ids=["file", "python"])
def test_who_is_admitted_in_a_drained_queue_is_evicted_then(by: Rules) -> None:
    """Quota that waits for checks is released without an eviction; once the checks admitted it, it is evicted."""
    lines = [queue("a", 4, stop_policy="HoldAndDrain", admission_checks_strategy=CHECKED)]
    waits = running("w", "a", checks={"budget": "Pending"})
    whole = state(lines, [replace(waits, admitted=False)]).snapshot()
    core = State.from_snapshot(replace(whole, checks=(AdmissionCheck("budget"),)))
    assert decide(core, by, 0).evicted == ()
    core.apply(WorkloadChanged(replace(waits, admitted=False, checks={"budget": "Ready"})))
    first = decide(core, by, 1)
    assert ([a.workload for a in first.ready], first.evicted) == ([f"{NS}/w"], ())
    for living in (copy_of(core), core):
        assert decide(living, by, first.next_at or 2).evicted == (Evicted(f"{NS}/w", "a", "ClusterQueueStopped"),)


def test_a_reason_that_is_named_again_is_replaced_and_others_add_up() -> None:
    """So a file may spare what a check asks again, and still evict what the shipped file evicts."""
    by = rules(
        "  evict:\n"
        "    - {reason: AdmissionCheck, expression: \"workload.checks.exists(c, workload.checks[c] == 'Rejected')\"}\n"
        "    - {reason: Unwanted, expression: \"workload.labels[?'keep'].orValue('') == 'no'\", message: a label}\n"
    )
    work = [running("retry", "a", checks={"c": "Retry"}), running("rejected", "a", checks={"c": "Rejected"})]
    work += [running("label", "a", labels={"keep": "no"}), running("off", "a", active=False)]
    found = evicted(*work, by=by)
    assert sorted(found) == [("label", "Unwanted"), ("off", "Deactivated"), ("rejected", "AdmissionCheck")]


def test_not_before_is_kept_to_the_millisecond() -> None:
    """For work that ran before, and for what is admitted in the same call; a state built anew keeps it too."""
    by = rules(OVERDUE)
    core = state([queue("a", 2)], [running("old", "a", since=0, run_time=5_000), job("new", "a", run_time=2_500)])
    first = decide(core, by, 1_000)
    assert (names(first), first.evicted, first.next_at) == (["new"], (), 3_500)
    for living in (core, copy_of(core)):
        assert decide(living, by, 3_499).evicted == ()
        due = decide(living, by, 3_500)
        assert due.evicted == (Evicted(f"{NS}/new", "a", "LongerThanSaid", "it said it runs for 2 s"),)
        assert due.next_at == 5_000
        assert [e.workload for e in decide(living, by, 5_000).evicted] == [f"{NS}/old"]
        assert decide(living, by, 9_000).next_at is None


def test_a_time_that_changes_is_heeded() -> None:
    """An earlier alarm for a time that does not count any more evicts nobody."""
    by = rules(OVERDUE)
    core = state([queue("a", 2)], [running("w", "a", run_time=5_000)])
    assert decide(core, by, 0).next_at == 5_000
    core.apply(WorkloadChanged(running("w", "a", run_time=8_000)))
    assert decide(core, by, 5_000).evicted == ()
    assert decide(core, by, 5_001).next_at == 8_000


def test_a_rule_that_reads_the_clock_is_asked_at_its_steps() -> None:
    """Hours change at quarters of an hour; for any other look at the time it is asked at each decision."""
    night = rules("  evict:\n    - {reason: Morning, expression: now.getHours() >= 7}\n")
    core = state([queue("a", 2)], [running("w", "a")])
    assert decide(core, night, 6 * HOUR + 1).next_at == 6 * HOUR + HOUR // 4
    assert decide(core, night, 7 * HOUR - 1).evicted == ()
    assert [e.reason for e in decide(core, night, 7 * HOUR).evicted] == ["Morning"]
    late = rules('  evict:\n    - {reason: Late, expression: "int(now) >= 90"}\n')
    core = state([queue("a", 2)], [running("w", "a")])
    assert decide(core, late, 80_000).next_at == 140_000
    assert decide(core, late, 89_999).evicted == ()
    assert [e.reason for e in decide(core, late, 90_000).evicted] == ["Late"]
    idle = state([queue("a", 2)], [])
    assert decide(idle, late, 0).next_at is None


def test_who_is_to_go_at_once_goes_in_the_next_call_though_no_time_passed() -> None:
    """Not in the call that admits him; and then in a state that lives as in one built anew."""
    by = rules("  evict: [{reason: End, expression: 'true'}]\n")
    living = state([queue("a", 9)], [job("w", "a")])
    first = decide(living, by, 1_000)
    assert (names(first), first.evicted, first.next_at) == (["w"], (), 1_001)
    rebuilt = copy_of(living)
    for core in (living, rebuilt):
        assert decide(core, by, 1_000).evicted == (Evicted(f"{NS}/w", "a", "End"),)
    assert decide(living, by, 1_000).next_at == decide(rebuilt, by, 1_000).next_at


def test_one_that_fails_evicts_nobody_and_hides_no_other() -> None:
    """The failure is told with its file and line; what others say still counts, and so do admissions."""
    by = rules("  evict:\n    - {reason: Bad, expression: \"workload.labels['x'] == ''\"}\n")
    core = state([queue("a", 3)], [running("w", "a"), running("off", "a", active=False), job("next", "a")])
    made = decide(core, by, 0)
    assert ([e.workload for e in made.evicted], names(made)) == ([f"{NS}/off"], ["next"])
    assert {f.workload for f in made.failed} == {f"{NS}/w", f"{NS}/next"}
    assert all(f.message.startswith("rules.yaml:6:49: rule evict.0.expression: ") for f in made.failed)


def test_pods_that_are_not_ready_are_seen() -> None:
    """`unreadySince` is the time of the condition PodsReady False, as Kueue writes it."""
    by = rules(
        "  evict:\n    - reason: PodsReadyTimeout\n      expression: workload.unreadySince != 0\n"
        "      notBefore: workload.unreadySince + 300000\n"
    )
    work = [running("stuck", "a", unready_since=1_000), running("fine", "a")]
    core = state([queue("a", 3)], work)
    assert decide(core, by, 300_999).next_at == 301_000
    assert decide(core, by, 301_000).evicted == (Evicted(f"{NS}/stuck", "a", "PodsReadyTimeout", "", 361_000),)


@pytest.mark.parametrize(("status", "since"), [("False", 1_767_225_600_999), ("True", 0), ("", 0)])
def test_the_condition_of_ready_pods_is_read(status: str, since: int) -> None:
    """Nobody's word is no reason: without the condition pods count as ready."""
    rows = [{"type": "PodsReady", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}] if status else []
    held = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    obj = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": NS},
        "spec": {"queueName": "a"},
        "status": {
            "conditions": [held, {**held, "type": "Admitted"}, *rows],
            "admission": {"clusterQueue": "a", "podSetAssignments": []},
        },
    }
    (found,) = snapshot([obj]).workloads
    assert found.unready_since == since


def test_a_plan_carries_it_out() -> None:
    """`sluice plan` asks the same rules: the one who waits gets the place of the one who must go."""
    by = rules(OVERDUE)
    work = [running("old", "a", run_time=5_000), job("next", "a", priority=1)]
    plan = make_plan(state([queue("a", 1)], work).snapshot(), by, 6_000)
    assert [e.workload for e in plan.evicted] == [f"{NS}/old"]
    assert [a.workload for a in plan.admitted] == [f"{NS}/next"]


@pytest.mark.parametrize(
    ("reason", "requeueing", "first"),
    [
        ("PodsReadyTimeout", Requeueing(), "next"),
        ("AdmissionCheck", Requeueing(), "next"),
        ("PodsReadyTimeout", Requeueing(by_eviction=("AdmissionCheck",)), "old"),
        ("LongerThanSaid", Requeueing(), "old"),
        ("LongerThanSaid", Requeueing(behind=("LongerThanSaid",)), "next"),
    ],
)
def test_what_is_evicted_waits_where_the_cluster_would_let_it(reason, requeueing, first) -> None:
    """Behind those that came meanwhile, or at its age: in a plan as in a simulation."""
    by = rules(f"  evict: [{{reason: {reason}, expression: workload.unreadySince != 0}}]\n")
    work = [running("old", "a", unready_since=1), job("next", "a", created=5, queued_at=5)]
    facts = replace(state([queue("a", 1)], work).snapshot(), requeueing=requeueing)
    plan = make_plan(facts, by, 6_000)
    assert plan.admitted[0].workload == f"{NS}/{first}"
    time = VirtualTime(State.from_snapshot(facts), by)
    time.settle(6_000)
    order = sorted(time.state.entries.values(), key=lambda entry: entry.workload.queued_at)
    assert order[0].key == f"{NS}/{first}"


def ready_rules(**parameters: int) -> Rules:
    """`pods-ready` over `kueue`, with a minute for pods to become ready."""
    return rules_named(["pods-ready"], {"timeout": 60_000, "recoveryTimeout": 10_000, **parameters})


@pytest.mark.parametrize(
    ("facts", "parameters", "at", "reason"),
    [
        ({}, {}, HOUR, None),
        ({"pods_ready": True}, {}, HOUR, None),
        ({"unready_since": 1}, {}, 60_000, None),
        ({"unready_since": 1}, {}, 60_001, "PodsReadyTimeout"),
        ({"unready_since": 1, "recovers": True}, {}, 10_001, "PodsReadyTimeout"),
        ({"unready_since": 1, "recovers": True}, {"recoveryTimeout": 0}, HOUR, None),
        ({"unready_since": 1, "requeue_count": 2}, {"retries": 3}, HOUR, "PodsReadyTimeout"),
        ({"unready_since": 1, "requeue_count": 3}, {"retries": 3}, HOUR, "DeactivatedDueToRequeuingLimitExceeded"),
        ({"unready_since": 1, "active": False}, {}, HOUR, "Deactivated"),
    ],
)
def test_what_is_not_ready_in_time_is_evicted(facts: dict, parameters: dict, at: int, reason: str | None) -> None:
    """Since its admission, or since its pods were lost; after so many tries for good."""
    found = evicted(running("w", "a", **facts), by=ready_rules(**parameters), at=at)
    assert found == ([("w", reason)] if reason else [])


@pytest.mark.parametrize(
    ("count", "waits"), [(0, 60_000), (1, 120_000), (2, 240_000), (5, 1_920_000), (6, HOUR), (99, HOUR)]
)
def test_each_wait_is_twice_as_long(count: int, waits: int) -> None:
    """A minute first, an hour at most, from the eviction on."""
    core = state([queue("a", 9)], [running("w", "a", unready_since=1, requeue_count=count)])
    [gone] = decide(core, ready_rules(), HOUR).evicted
    assert gone.requeue_at == HOUR + waits


@pytest.mark.parametrize(
    "by",
    [ready_rules(), rules_named(["kueue"]), rules_named(["kueue-fair"]), KueueRules()],
    ids=["pods-ready", "kueue", "kueue-fair", "python"],
)
def test_who_is_back_waits_only_for_pods_that_were_not_ready(by: Rules) -> None:
    """A count of before delays nobody who was preempted since, by any of the rules."""
    back = replace(job("w", "a"), requeue_count=2, evicted_at=HOUR, evicted_reason="Preempted")
    assert names(decide(state([queue("a", 9)], [back]), by, HOUR)) == ["w"]
    assert names(decide(state([queue("a", 9)], [replace(back, evicted_reason="PodsReadyTimeout")]), by, HOUR)) == []


def test_one_starts_after_the_other() -> None:
    """While pods of one are not ready, nobody is admitted, in the same cycle or later; then the next one is."""
    by = rules_named(["block-until-ready"])
    core = state([queue("a", 9), queue("b", 9)], [job("v", "a", created=1), job("w", "b", created=2)])
    assert names(decide(core, by, 0)) == ["v"]
    assert [p.reason.value for p in pending(core)] == ["WaitingForPodsReady"]
    assert names(decide(core, by, 1)) == []
    held = next(w for w in core.snapshot().workloads if w.name == "v")
    core.apply(WorkloadChanged(replace(held, pods_ready=True)))
    assert names(decide(core, by, 2)) == ["w"]
