"""`maximumExecutionTimeSeconds` and `Requeued=False`: what the API says of them, as the core reads and obeys it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.queue.build import NS, copy_of, job, names, queue, state
from tests.queue.python_rules import KueueRules
from webhook.api.snapshot.reader import snapshot
from webhook.cluster.workloads.conditions import OVERTIME
from webhook.kube.times import milliseconds
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Evicted
from webhook.queue.events import WorkloadChanged
from webhook.queue.explain import pending
from webhook.queue.model import Admission, PodSetAssignment, Workload

BEGAN = "2026-01-01T00:00:00Z"
START = milliseconds(BEGAN)


def read(spec: dict[str, Any], *conditions: tuple[str, str, str], **status: Any) -> Workload:
    """A Workload object as the core reads it; conditions as (type, status, reason)."""
    rows = [{"type": t, "status": s, "reason": r, "lastTransitionTime": BEGAN} for t, s, r in conditions]
    obj = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": NS},
        "spec": {"queueName": "a", **spec},
        "status": {"conditions": rows, **status},
    }
    (found,) = snapshot([obj]).workloads
    return found


def admitted(deadline: int) -> Workload:
    assignment = PodSetAssignment("main", {"gpu": "default"}, {"gpu": 1}, 1)
    return job("w", "a", admission=Admission("a", (assignment,)), admitted=True, deadline=deadline)


@pytest.mark.parametrize(
    ("limit", "status", "lasts"),
    [
        (60, {}, 60),
        (60, {"accumulatedPastExecutionTimeSeconds": 20}, 40),
        (60, {"accumulatedPastExexcutionTimeSeconds": 20}, 40),
        (60, {"accumulatedPastExecutionTimeSeconds": 90}, 0),
    ],
)
def test_the_time_counts_from_admission_and_what_was_before_counts(limit, status, lasts):
    """The deadline is the admission plus the limit, less the time of earlier admissions, in either spelling."""
    found = read({"maximumExecutionTimeSeconds": limit}, ("Admitted", "True", "Admitted"), **status)
    assert found.deadline == START + 1000 * lasts


def test_without_an_admission_or_a_limit_there_is_no_deadline():
    """Time that is spent waiting does not count."""
    assert read({"maximumExecutionTimeSeconds": 60}, ("QuotaReserved", "True", "QuotaReserved")).deadline == 0
    assert read({}, ("Admitted", "True", "Admitted")).deadline == 0


def test_who_is_out_of_time_is_evicted_at_that_moment():
    """The core asks to be called then, evicts once, at the very millisecond, and gives the place to the next one."""
    core, rules = state([queue("a", 1)], [admitted(5_000), job("next", "a")]), KueueRules()
    early = decide(core, rules, 4_999)
    assert (early.evicted, early.next_at) == ((), 5_000)
    due = decide(core, rules, 5_000)
    assert due.evicted == (Evicted(f"{NS}/w", "a", OVERTIME),)
    assert due.next_at is None
    assert decide(core, rules, 5_001).evicted == ()
    core.apply(WorkloadChanged(job("w", "a", active=False)))
    assert names(decide(core, rules, 6_000)) == ["next"]


def test_a_state_built_anew_knows_the_deadline_too():
    """After a restart the same moment counts; a deadline that passed meanwhile is acted on at once."""
    core = copy_of(state([queue("a", 1)], [admitted(5_000)]))
    assert [e.reason for e in decide(core, KueueRules(), 9_000).evicted] == [OVERTIME]


@pytest.mark.parametrize(
    ("reason", "held"),
    [
        ("Maintenance", True),
        ("PodsReadyTimeout", False),
        ("AdmissionCheck", False),
        ("ClusterQueueStopped", False),
        ("LocalQueueStopped", False),
        ("DeactivatedDueToMaximumExecutionTimeExceeded", False),
    ],
)
def test_requeued_false_keeps_a_workload_out(reason, held):
    """Until the condition is True again; not where the core sees the end itself: back-off, queue or `active`."""
    found = read({}, ("Requeued", "False", reason))
    assert found.held == (f"not requeued yet: {reason}" if held else "")
    assert read({}, ("Requeued", "True", reason)).held == ""


def test_a_held_workload_waits_and_says_why():
    """The workload is not admitted though there is room; when the condition changes, it is."""
    core = state([queue("a", 1)], [job("w", "a", held="Maintenance")])
    assert names(decide(core, KueueRules(), 0)) == []
    (told,) = pending(core)
    assert "Maintenance" in told.message
    core.apply(WorkloadChanged(job("w", "a")))
    assert names(decide(core, KueueRules(), 1)) == ["w"]
