"""When a pending job starts, whatever its place in its queue, over known run times; or why that is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.queue.build import NS, job, queue, running, state
from tests.queue.load_rules import load_rules
from webhook.api.pending_message import start_unknown_of
from webhook.documents import read
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.explain import explain, pending
from webhook.queue.forecast import Bounds, forecast, with_start
from webhook.queue.model import Preemption
from webhook.queue.rules import Rules
from webhook.queue.state import State

RULES = rules_named(["kueue"])
HOUR = 3_600_000
NIGHT = """
apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: night}
spec:
  admit: [{reason: Night, expression: now.getHours() >= 20}]
"""


def settled(core: State, rules: Rules = RULES, now: int = 0) -> State:
    """A state in which everything was looked at."""
    decide(core, rules, now)
    return core


def start(core: State, name: str, now: int = 0) -> tuple[int | None, str]:
    """The start of a job that waits, and why it is not known; the state is as it was."""
    before = list(pending(core))
    told = explain(core, f"{NS}/{name}")
    assert told is not None
    found = with_start(core, told, now)
    assert list(pending(core)) == before
    return found.start, start_unknown_of(found.start_unknown, found.start_blocked)


def line_of(count: int, **kwargs: object) -> list[object]:
    """Jobs that fill the queue one after the other, an hour each."""
    return [job(f"j{i}", "a", 4, queued_at=i, created=i, **{"run_time": HOUR, **kwargs}) for i in range(count)]


def test_a_job_behind_others_starts_when_they_have_ended() -> None:
    """The first starts when what runs has ended, each other one when the one before it has."""
    core = settled(state([queue("a", 4)], [running("r", "a", 4, run_time=HOUR), *line_of(3)]))
    assert [start(core, f"j{i}") for i in range(3)] == [(HOUR, ""), (2 * HOUR, ""), (3 * HOUR, "")]
    assert [p.start for p in pending(core)] == [HOUR, None, None]
    assert [p.start_unknown for p in pending(core)] == ["", "1 job is ahead", "2 jobs are ahead"]


def test_a_small_job_passes_a_big_one_that_does_not_fit() -> None:
    """Under BestEffortFIFO a job starts as soon as there is room, whatever waits before it."""
    work = [running("r", "a", 3, run_time=HOUR), running("s", "a", 1, run_time=2 * HOUR), job("big", "a", 4)]
    core = settled(state([queue("a", 4)], [*work, job("small", "a", 2, queued_at=9, created=9)]))
    assert start(core, "small") == (HOUR, "")


@pytest.mark.parametrize(
    ("work", "name", "why"),
    [
        ([running("r", "a", 4)], "j0", f"{NS}/r has no run time"),
        ([running("r", "a", 4)], "j2", f"{NS}/r has no run time"),
        ([running("r", "a", 4, run_time=HOUR), job("x", "a", 4, priority=9)], "j0", f"{NS}/x has no run time"),
    ],
    ids=["first", "third", "ahead"],
)
def test_without_a_run_time_the_job_is_named(work: list[object], name: str, why: str) -> None:
    """Whoever ends at no known time is named, whether it runs or comes before."""
    core = settled(state([queue("a", 4)], [*work, *line_of(3)]))  # type: ignore[list-item]
    assert start(core, name) == (None, why)
    told = explain(core, f"{NS}/{name}")
    assert told is not None
    assert with_start(core, told, 0).start_job in why


def test_a_run_time_that_is_over_is_no_start_in_the_past() -> None:
    """What runs longer than it said may end any moment."""
    core = settled(state([queue("a", 4)], [running("r", "a", 4, run_time=HOUR), *line_of(1)]), now=9 * HOUR)
    assert start(core, "j0", 9 * HOUR) == (9 * HOUR, "")
    assert [p.start for p in pending(core)] == [9 * HOUR]


def test_a_job_that_rules_hold_back_starts_when_they_let_it() -> None:
    """The clock goes on to the hour at which a condition holds; where none does, the rule's answer is the reason."""
    core = settled(state([queue("a", 4)], line_of(1)), load_rules(read(NIGHT, "night.yaml")))
    assert start(core, "j0") == (20 * HOUR, "")
    never = load_rules(read(NIGHT.replace("20", "30"), "night.yaml"))
    assert start(settled(state([queue("a", 4)], line_of(1)), never), "j0") == (None, "Night")


def test_what_can_never_fit_says_so() -> None:
    """Its numbers are the reason."""
    core = settled(state([queue("a", 4)], [job("big", "a", 5)]))
    assert start(core, "big")[1] == "requests 5 gpu of flavor default, the queue can use at most 4"


def test_victims_stop_and_start_again() -> None:
    """A preemptor starts at once; its victim waits behind it and runs its whole time again."""
    lines = [queue("a", 4, preemption=Preemption("LowerPriority"))]
    low = running("low", "a", 4, run_time=2 * HOUR)
    later = job("later", "a", 4, queued_at=9, created=9, run_time=HOUR)
    core = settled(state(lines, [low, job("high", "a", 4, priority=5, run_time=HOUR), later]))
    assert start(core, "high") == (0, "")
    assert start(core, "later") == (3 * HOUR, "")


def test_other_queues_of_the_cohort_count_and_others_do_not() -> None:
    """Quota is lent inside a cohort; a queue outside of it may hold as many jobs as it likes."""
    lines = [queue("a", 0, "co"), queue("b", 4, "co"), queue("other", 1)]
    crowd = [job(f"c{i}", "other") for i in range(50)]
    core = settled(state(lines, [running("r", "b", 4, run_time=HOUR), *line_of(1), *crowd]))
    assert start(core, "j0") == (HOUR, "")
    entry = core.entries[f"{NS}/j0"]
    assert forecast(core, entry.workload, 0, Bounds(jobs=10)).at == HOUR


@pytest.mark.parametrize(("jobs", "heads"), [(3, 10_000), (2_000, 1)])
def test_a_forecast_is_bounded(jobs: int, heads: int) -> None:
    """Where it would cost too much, it says how many jobs are ahead."""
    core = settled(state([queue("a", 4)], [running("r", "a", 4, run_time=HOUR), *line_of(5)]))
    told = explain(core, f"{NS}/j4")
    assert told is not None
    found = with_start(core, told, 0, Bounds(jobs, heads))
    assert (found.start, found.start_unknown) == (None, "4 jobs are ahead")


def test_a_job_that_would_come_now_is_behind_all() -> None:
    """What is not there yet can be asked about: it comes last in its queue."""
    core = settled(state([queue("a", 4)], [running("r", "a", 4, run_time=HOUR), *line_of(2)]))
    new = job("new", "a", 4, queued_at=99, created=99)
    assert forecast(core, new, 0).at == 3 * HOUR
    assert forecast(core, replace(new, queue_name="none"), 0).unknown == "it is in no queue"


def test_an_estimate_is_a_date() -> None:
    """Whatever run times say: what lies more than a century ahead is not known, and no forecast goes on for it."""
    century = 100 * 365 * 24 * HOUR
    core = settled(state([queue("a", 4)], [running("r", "a", 4, run_time=century), *line_of(3, run_time=century)]))
    assert [start(core, f"j{i}") for i in range(3)] == [
        (century, ""),
        (2 * century, ""),
        (None, "it is more than 100 years ahead"),
    ]
