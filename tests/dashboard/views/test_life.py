"""The life of a Workload: each event once, in the order in which it happened, and for whom one was preempted."""

from itertools import pairwise

import pytest

from webhook.cluster.api.view import View
from webhook.cluster.workloads.events import preemption_message
from webhook.dashboard.model.workloads import JobRef, LifeEvent
from webhook.dashboard.views.life import Lives
from webhook.dashboard.views.preemptor import preemptor_in
from webhook.queue.decisions import Preempted, PreemptionReason
from webhook.store.memory import MemoryStore

URGENT = JobRef("team-b/job-urgent", "Job/urgent")
RECLAIM = (
    "Preempted to accommodate a workload (UID: u-1, JobUID: j-1) due to reclamation within the cohort; "
    "preemptor path: /all/b; preemptee path: /all/a"
)


def at(second):
    """A time of the morning of the first of May."""
    return f"2026-05-01T08:00:{second:02}Z"


def workload(*conditions, queue="a"):
    """A Workload that was created at second 0; conditions are (type, status, second, reason, message)."""
    rows = [
        {"type": kind, "status": str(status), "lastTransitionTime": at(second), "reason": reason, "message": message}
        for kind, status, second, reason, message in conditions
    ]
    admission = {"admission": {"clusterQueue": queue}} if queue else {}
    metadata = {"namespace": "team-a", "name": "w", "creationTimestamp": at(0)}
    return {"metadata": metadata, "spec": {"queueName": "main"}, "status": {"conditions": rows, **admission}}


def lives():
    """What a replica saw, where the preemptor is still there."""
    return Lives(lambda uid: URGENT if uid == "u-1" else None)


RESERVED = ("QuotaReserved", True, 1, "QuotaReserved", "Quota reserved in ClusterQueue a")
ADMITTED = ("Admitted", True, 1, "Admitted", "The workload is admitted")
CHECKED = ("Admitted", True, 4, "Admitted", "The workload is admitted")
EVICTED = ("Evicted", True, 1, "Preempted", RECLAIM)
PREEMPTED = ("Preempted", True, 1, "InCohortReclamation", RECLAIM)
REQUEUED = ("Requeued", True, 1, "Preempted", RECLAIM)
TIMED_OUT = ("Evicted", True, 9, "PodsReadyTimeout", "Exceeded the PodsReady timeout")
NO_QUOTA = ("QuotaReserved", False, 1, "Pending", RECLAIM)
AGAIN = ("QuotaReserved", True, 1, "QuotaReserved", "Quota reserved in ClusterQueue b")

HELD = workload(RESERVED, ADMITTED)
STOPPING = workload(RESERVED, ADMITTED, EVICTED, PREEMPTED)
WAITING = workload(NO_QUOTA, EVICTED, PREEMPTED, REQUEUED, queue="")


@pytest.mark.parametrize(
    "steps, words",
    [
        ([HELD], ["queued", "admitted"]),
        ([workload(RESERVED)], ["queued", "reserved"]),
        ([workload(RESERVED, CHECKED)], ["queued", "reserved", "admitted"]),
        ([workload(RESERVED), workload(RESERVED, CHECKED)], ["queued", "reserved", "admitted"]),
        ([STOPPING], ["queued", "admitted", "preempted"]),
        ([WAITING], ["queued", "preempted", "requeued"]),
        ([workload(), HELD, STOPPING, WAITING], ["queued", "admitted", "preempted", "requeued"]),
        ([workload(), HELD, STOPPING, WAITING, workload(AGAIN, REQUEUED)],
         ["queued", "admitted", "preempted", "requeued", "reserved"]),
        ([workload(AGAIN, REQUEUED)], ["queued", "requeued", "reserved"]),
        ([workload(RESERVED, ADMITTED, TIMED_OUT)], ["queued", "admitted", "evicted"]),
    ],
    ids=["an object alone", "checks open", "checks done", "checks seen to be done", "stopping", "waiting again",
         "seen, all in one second", "seen until it has quota again", "with quota again, alone", "evicted"],
)  # fmt: skip
def test_each_event_once_and_in_order(steps, words):
    """The steps are what a watch brings; the last one is the object as it is."""
    made = lives()
    for old, new in pairwise(steps):
        made.heard(old, new)
    assert [event.what for event in made.of(steps[-1])] == words


def test_for_whom_one_was_preempted():
    """It is a job, with its queue and why; the message that names it by its uid is not told again."""
    (told,) = [event for event in lives().of(WAITING) if event.what == "preempted"]
    assert told.preemptor == JobRef("team-b/job-urgent", "Job/urgent", "b")
    assert (told.reason, told.detail) == ("InCohortReclamation", "")
    (gone,) = [event for event in Lives(lambda _: None).of(WAITING) if event.what == "preempted"]
    assert gone.preemptor == JobRef(cluster_queue="b")


def test_a_journal_says_more_of_what_was_seen():
    """What both tell is told once, with the amounts that the journal has; what only the journal has comes too."""
    second = 1_777_622_400_000
    past = [
        LifeEvent(second + 900, "queued", queue="main", detail="2 cpu"),
        LifeEvent(second + 1900, "admitted", queue="a", detail="2 cpu (f)"),
        LifeEvent(second + 30_000, "deleted"),
    ]
    made = lives()
    made.heard(workload(queue=""), HELD)
    events = made.of(HELD, past)
    assert [(event.what, event.detail) for event in events] == [
        ("queued", "2 cpu"), ("admitted", "2 cpu (f)"), ("deleted", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "message, found",
    [
        (RECLAIM, ("u-1", "b")),
        (RECLAIM.partition("; ")[0], ("u-1", "")),
        (
            preemption_message(
                View(MemoryStore(), ()), Preempted("team-a/w", "a", PreemptionReason.RECLAIM, ""), None, ""
            ),
            ("", ""),
        ),
        ("Exceeded the PodsReady timeout", None),
        ("", None),
    ],
    ids=["with paths", "of an older Kueue", "ours, of an unknown one", "another message", "none"],
)
def test_preemptor_in(message, found):
    assert preemptor_in(message) == found
