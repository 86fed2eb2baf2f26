"""The line of a queue on the page: from the journal of a replica that writes one, else from what it saw itself."""

import asyncio

import pytest

from tests.journal.days import MINUTE, MONDAY, TAKEOVER, finished, held, live
from tests.journal.test_command import told
from webhook.cluster.pace import at_once
from webhook.dashboard.past.ended import Ended
from webhook.dashboard.past.history import SHOWN_POINTS, Runs, Samples
from webhook.dashboard.past.past import Past

FULL = [(0,), (1, told("first", "2")), (2, held("first", "2", 1))]
ENDS = finished("first", "2", 30, 1)


def history(core, folder, minute, *, leads=True, samples=None):
    """The source, whether it is partial, and the points of the queue from a minute on: minute, millicores, pending."""
    past = Past(folder, lambda: leads, samples or Samples(MONDAY), Runs(lambda key: None), Ended(), lambda: 0.0)
    found = asyncio.run(past.history(core.state, "cq", MONDAY + minute * MINUTE))
    assert past.source == found.source
    points = [((p.at - MONDAY) / MINUTE, p.reserved.get(0, 0), p.pending) for p in found.points]
    return found.source, found.partial, points


@pytest.mark.parametrize(
    ("steps", "minute", "points"),
    [
        ([*FULL, *((minute,) for minute in range(3, 361))], 300, [(300, 2000, 0)]),
        ([(minute,) for minute in range(61)], 50, [(50, 0, 0)]),
        ([*FULL, (30, ENDS), (31,), (40,)], 25, [(25, 2000, 0), (31, 0, 0)]),
    ],
    ids=["a queue that is full for hours", "a queue that is empty", "a job that ends"],
)
def test_a_line_begins_as_things_stood_then(tmp_path, steps, minute, points):
    """A point is kept where something changed: the first one may be long before."""
    core = live(tmp_path, *steps)
    assert history(core, tmp_path / "replica-1", minute) == ("journal", False, points)


def test_the_last_of_many_points_is_shown(tmp_path):
    """A job comes every six minutes; of more points than can be seen the last one stays."""
    core = live(tmp_path, (0,), *((6 * number, told(f"big-{number}", "5")) for number in range(1, SHOWN_POINTS + 102)))
    _, _, points = history(core, tmp_path / "replica-1", 0)
    assert len(points) <= SHOWN_POINTS + 1
    assert points[-1][2] == SHOWN_POINTS + 101


def seen(core, *minutes):
    """What a replica saw itself from the first of these minutes on."""
    samples = Samples(MONDAY + minutes[0] * MINUTE)
    for minute in minutes:
        at_once(samples.look(core.state, MONDAY + minute * MINUTE))
    return samples


def test_a_replica_that_does_not_lead_shows_what_it_saw(tmp_path):
    """Its journal ended when it led last, if it ever did."""
    core = live(tmp_path, *FULL, (10,))
    core.follow(MONDAY + 11 * MINUTE)
    core.heard(held("first", "2", 1), finished("first", "2", 12, 1))
    core.follow(MONDAY + 13 * MINUTE)
    samples = seen(core, 13, 14)
    for folder in (tmp_path / "replica-1", tmp_path / "never"):
        assert history(core, folder, 0, leads=False, samples=samples) == ("memory", False, [(13, 0, 0)])


@pytest.mark.parametrize(("since", "partial"), [(5, False), (20, True)])
def test_what_another_leader_did_is_seen_not_read(tmp_path, since, partial):
    """This replica led, then another one, then this one again: between, its journal says nothing."""
    core = live(tmp_path, *FULL, (9,), TAKEOVER, (10, ENDS), TAKEOVER, (60, told("second", "1")), (70,))
    ((file,), folder) = (tmp_path / "replica-3").iterdir(), tmp_path / "replica-1"
    file.rename(folder / file.name)
    samples = seen(live(tmp_path / "other", (0,)), since, since + 1)
    source, is_partial, found = history(core, folder, 0, samples=samples)
    own = [(2, 2000, 0), (9, 2000, 0)]
    assert (source, is_partial) == ("journal", partial)
    assert found == [*own, *([(since, 0, 0)] if partial else []), (60, 0, 1)]
