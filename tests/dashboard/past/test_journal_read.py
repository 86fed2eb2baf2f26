"""What the page reads of a journal: days as the core wrote them, and the arrivals, lives and points of them."""

import pytest

from tests.cluster.small_cluster import queues
from tests.journal.days import RELOAD, finished, gone, held, live
from tests.journal.test_command import told
from webhook.dashboard.past.journal import read_past


def test_a_job_of_the_highest_priority_and_one_without_a_time_are_read(tmp_path):
    """A priority has 32 bits; the clock was put back while the second ran, so nothing says for how long."""
    high = [told("first", "2"), held("first", "2", 1), finished("first", "2", 3, 1)]
    for obj in high:
        obj["spec"]["priority"] = 2**31 - 1
    low = [told("second", "2"), held("second", "2", 4), finished("second", "2", 4, 4)]
    live(tmp_path, (0,), (1, high[0]), (2, high[1]), (3, high[2]), (4, low[0]), (5, low[1]), (2, low[2]))
    past = read_past(tmp_path / "replica-1", lambda: True)
    assert [(a.name, a.priority, a.run) for a in past.arrivals] == [("first", 2**31 - 1, 120_000)]
    assert [event.what for event in past.lives["team-a/second"]] == ["queued", "admitted", "finished"]


def stopped(name, cpu):
    """A Workload that its owner has deactivated."""
    made = told(name, cpu)
    made["spec"]["active"] = False
    return made


(LOCAL_QUEUE,) = [obj for obj in queues("2") if obj["kind"] == "LocalQueue"]
HELD_BACK = {**LOCAL_QUEUE, "spec": {**LOCAL_QUEUE["spec"], "stopPolicy": "Hold"}}
BIG = told("big", "5")
PENDING = {
    "inactive": [stopped("big", "5")],
    "deactivated while it waits": [BIG, stopped("big", "5")],
    "its LocalQueue is deleted": [BIG, gone(LOCAL_QUEUE)],
    "its LocalQueue is deleted, then it": [BIG, gone(LOCAL_QUEUE), gone(BIG)],
    "its LocalQueue comes later": [gone(LOCAL_QUEUE), BIG, LOCAL_QUEUE],
    "its LocalQueue is stopped": [BIG, HELD_BACK],
    "its LocalQueue is stopped and goes on": [BIG, HELD_BACK, LOCAL_QUEUE],
    "its admission is not written, and it is deactivated": [told("first", "2"), stopped("first", "2")],
}


@pytest.mark.parametrize("case", PENDING)
def test_pending_is_counted_as_the_core_does(tmp_path, case):
    """Each change is seen by a round of its own, six minutes after the one before."""
    core = live(tmp_path, (0,), *((6 * number, told) for number, told in enumerate(PENDING[case], 1)))
    line = core.state.by_queue["cq"]
    last = read_past(tmp_path / "replica-1", lambda: True).queues["cq"][-1]
    assert last.pending == sum(len(each.members) for each in line.classes.values())
    assert [n for _, n in last.reserved] == [n for n in line.node.tree.usage if n]
    assert last.reserving == len(line.holders)


def test_an_admission_that_is_refused_as_a_file_begins_held_nothing(tmp_path):
    """The facts that the file begins with have it; the next record takes it back."""
    first = told("first", "2")
    live(tmp_path, (0,), (1, first), RELOAD, (7,), (14, stopped("first", "2")), (21,))
    last = read_past(tmp_path / "replica-1", lambda: True).queues["cq"][-1]
    assert (last.pending, last.reserving, last.reserved) == (0, 0, ())


def test_a_refused_admission_held_nothing(tmp_path):
    """It was pending all the time, as its object says, until an admission was written."""
    refused = [(minute, told("first", "2", ("PodsReady", minute))) for minute in range(1, 30, 6)]
    live(tmp_path, (0,), *refused, (40, held("first", "2", 40)), (50, held("first", "2", 40)))
    points = read_past(tmp_path / "replica-1", lambda: True).queues["cq"]
    seen = [(point.pending, point.reserving, point.started) for point in points]
    assert seen == [(1, 0, 0), (0, 1, 1), (0, 1, 0)]
    assert [point.waited for point in points] == [0, 40 * 60_000, 0]


def test_a_start_between_two_files_is_counted(tmp_path):
    """The rules change when the admission is written: no round of the first file has seen it."""
    live(tmp_path, (0,), (1, told("first", "9")), RELOAD, (7, held("first", "2", 6)), (14,))
    points = read_past(tmp_path / "replica-1", lambda: True).queues["cq"]
    assert sum(point.started for point in points) == 1


def test_reserved_and_admitted_are_two_events(tmp_path):
    """Quota is reserved until the object says that the checks are ready."""
    waits = told("first", "2", ("QuotaReserved", 1), admission=True)
    live(tmp_path, (0,), (1, told("first", "9")), (2, waits), (12, held("first", "2", 1)), (14,))
    past = read_past(tmp_path / "replica-1", lambda: True)
    assert [event.what for event in past.lives["team-a/first"]] == ["queued", "reserved", "admitted"]
    assert [(point.reserving, point.started) for point in past.queues["cq"]][-2:] == [(1, 0), (1, 1)]
