"""What the page reads of a journal: days as the core wrote them, and the arrivals, lives and points of them."""

from tests.journal.days import finished, held, live
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
