"""Admission in two phases, evictions and files in a row: what the timeline tells, and how long each job ran."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from webhook.dashboard.past.history import Runs
from webhook.journal.follow import Continuation, continues, steps
from webhook.journal.records import Begin, Decided
from webhook.journal.timeline import timeline
from webhook.journal.trace import TracedRuns
from webhook.queue.decisions import Admitted, Evicted
from webhook.queue.events import AdmissionUnwritten, WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.memory import Memory
from webhook.queue.model import Admission, PodSet, PodSetAssignment, Snapshot, Workload

MONDAY = 1_700_000_000_000
JOB = Workload("a", "w", queue_name="lq", pod_sets=(PodSet("main", 1, {"cpu": 1000}),), created=MONDAY)
GIVEN = (PodSetAssignment("main", {"cpu": "f"}, {"cpu": 1000}, 1),)
ENDED = replace(JOB, finished=True)


def at(seconds):
    """So many seconds after the beginning."""
    return MONDAY + 1000 * seconds


def begin(seconds, *workloads, epoch=1, lease=""):
    """A file that begins with these facts."""
    facts = Snapshot(workloads=workloads)
    return Begin(at(seconds), "me", epoch, ("kueue",), {}, {}, "d", 500, facts, Memory(now=at(seconds)), lease=lease)


def told(workload):
    """A Workload as its object says."""
    return WorkloadChanged(workload)


def holds(seconds, *, admitted):
    """The job with quota since a time."""
    return replace(JOB, admission=Admission("cq", GIVEN, at(seconds)), admitted=admitted)


def admits(seconds, *, checked=True):
    """A round that admits the job, or reserves its quota only."""
    return Decided(at(seconds), admitted=(Admitted("a/w", "cq", GIVEN, admitted=checked),))


def ready(seconds):
    """A round that finds all checks ready."""
    return Decided(at(seconds), ready=(Admitted("a/w", "cq", GIVEN),))


def evicts(seconds):
    """A round that evicts the job."""
    return Decided(at(seconds), evicted=(Evicted("a/w", "cq", "Preempted"),))


def sees(seconds):
    """A round without a decision."""
    return Decided(at(seconds))


DAYS = {
    "the checks take ten minutes": (
        [
            begin(0), told(JOB), admits(1, checked=False), told(holds(1, admitted=False)), sees(2),
            ready(600), told(holds(1, admitted=True)), sees(601), told(ENDED), sees(660),
        ],
        ["began", "arrived", "quota-reserved", "admitted", "finished"],
        60,
    ),
    "the checks take ten minutes, and Kueue decides": (
        [
            begin(0), told(JOB), sees(1), told(holds(1, admitted=False)), sees(2),
            told(holds(1, admitted=True)), sees(600), told(ENDED), sees(660),
        ],
        ["began", "arrived", "quota-reserved", "admitted", "finished"],
        60,
    ),
    "a file begins while the checks are pending": (
        [
            begin(0, holds(0, admitted=False)), sees(0), begin(300, holds(0, admitted=False)), sees(300),
            ready(600), told(holds(0, admitted=True)), sees(601), told(ENDED), sees(660),
        ],
        ["began", "began", "admitted", "finished"],
        60,
    ),
    "the checks are never ready": (
        [begin(0), told(JOB), admits(1, checked=False), WorkloadGone("a/w"), sees(90)],
        ["began", "arrived", "quota-reserved", "deleted"],
        None,
    ),
    "it runs for an hour, is evicted, and runs for ten minutes": (
        [
            begin(0), told(JOB), admits(0), told(holds(0, admitted=True)), sees(1), evicts(3600),
            told(replace(holds(0, admitted=True), evicted=True)), sees(3601),
            WorkloadEvicted("a/w", at(3602)), admits(5000), told(ENDED), sees(5600),
        ],
        ["began", "arrived", "admitted", "evicted", "requeued", "admitted", "finished"],
        600,
    ),
    "an admission is not written": (
        [begin(0), told(JOB), admits(0), AdmissionUnwritten("a/w"), admits(100), told(ENDED), sees(700)],
        ["began", "arrived", "admitted", "unwritten", "admitted", "finished"],
        600,
    ),
    "events about what is not known": (
        [begin(0), WorkloadGone("a/x"), WorkloadEvicted("a/x", at(1)), AdmissionUnwritten("a/x"), sees(1)],
        ["began"],
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("day", DAYS)
def test_what_happened_and_how_long_the_job_ran(day):
    """A job runs from its admission to its end; before, its quota is reserved. Only its last run counts."""
    records, words, seconds = DAYS[day]
    traced = TracedRuns()
    for step in steps(records):
        traced.take(step)
    assert [entry.what for entry in timeline(steps(records))] == words
    assert [run.run_time / 1000 for run in traced.ran()] == ([] if seconds is None else [seconds])


def moment(seconds):
    """The same as `at`, as an object has it."""
    return datetime.fromtimestamp(at(seconds) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions(**rows):
    """A Workload's object with conditions: whether each holds, and since when."""
    made = [
        {"type": type_, "status": "True" if holds else "False", "lastTransitionTime": moment(since)}
        for type_, (holds, since) in rows.items()
    ]
    return {"metadata": {"namespace": "a", "name": "w"}, "status": {"conditions": made}}


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        ({"QuotaReserved": (True, 1), "Admitted": (True, 600), "Finished": (True, 660)}, [60]),
        ({"Admitted": (True, 5000), "Evicted": (False, 3600), "Finished": (True, 5600)}, [600]),
        ({"QuotaReserved": (True, 1), "Admitted": (False, 1), "Finished": (True, 90)}, []),
        ({"Admitted": (True, 90), "Finished": (True, 20)}, []),
    ],
    ids=["the checks took ten minutes", "evicted before", "the checks were never ready", "the clock was put back"],
)
def test_objects_say_the_same_as_the_journal(rows, seconds):
    """Where no journal is written, a simulation runs what conditions tell."""
    runs = Runs(lambda key: JOB)
    runs.heard(conditions(), conditions(**rows))
    assert [arrival.run / 1000 for arrival in runs.arrivals()] == seconds


def test_what_is_inactive_or_held_is_not_pending():
    """Neither the line of a file nor Kueue counts it."""
    others = (replace(JOB, name="x", active=False), replace(JOB, name="y", held="on hold: its job has no pods"))
    (began,) = timeline(steps([begin(0, JOB, *others)]))
    assert began.detail == "leader me, rules kueue; 1 pending, 0 with quota reserved"


@pytest.mark.parametrize(
    ("before", "then", "how"),
    [
        (None, (1, "l"), Continuation.FIRST),
        ((1, "l"), (1, "l"), Continuation.SAME_LEADER),
        ((1, "l"), (2, "l"), Continuation.SAME_LEADER),
        ((1, "l"), (3, "l"), Continuation.GAP),
        ((3, ""), (1, "l"), Continuation.GAP),
        ((1, "l"), (1, "m"), Continuation.ANOTHER_CLUSTER),
        ((1, "l"), (2, ""), Continuation.ANOTHER_CLUSTER),
    ],
    ids=["first", "same term", "next term", "another led", "an older Sluice", "another lease", "a Sluice put back"],
)
def test_how_a_file_continues_the_last(before, then, how):
    """By the lease and the epoch of both."""
    last = None if before is None else begin(0, epoch=before[0], lease=before[1])
    assert continues(last, begin(9, epoch=then[0], lease=then[1])) is how
