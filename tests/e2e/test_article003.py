"""Article 003 through the real API server, with both strategies side by side, and with Sluice killed on the way."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.article003 import CPUS, QUEUE_NAME, Setting, submit
from tests.e2e.history import Admission, History
from tests.e2e.sluice import Sluice

pytestmark = pytest.mark.cluster

EACH = 12
SECONDS = 0.5


@pytest.fixture(scope="module")
def both(control_plane: ControlPlane, sluice: Sluice) -> Iterator[tuple[list[Setting], History, list[dict]]]:
    """Twelve Jobs of either team under each strategy, submitted and waited for."""
    client = control_plane.client
    settings = [Setting("besteffort", "BestEffortFIFO"), Setting("strict", "StrictFIFO")]
    for setting in settings:
        setting.create(client)
    teams = [team for setting in settings for team in setting.teams]
    history = History(control_plane, teams)
    try:
        answers = submit(client, settings, EACH, SECONDS, 0.15)
        with contextlib.suppress(TimeoutError):  # the tests say which are missing
            control_plane.wait("all Jobs are complete", lambda: history.finished(*teams) == 4 * EACH)
        yield settings, history, answers
    finally:
        history.close()


def test_every_job_is_suspended_and_queued_at_creation(both: tuple) -> None:
    """Jobs arrive with an annotation only and no `suspend`; the answer has suspend, label and annotation."""
    _, history, answers = both
    assert len(answers) == 4 * EACH
    for job in answers:
        meta = job["metadata"]
        assert job["spec"]["suspend"] is True
        assert meta["labels"][QUEUE_NAME] == meta["annotations"][QUEUE_NAME]
    assert all(life.first_suspended for life in history.lives.values())


@pytest.mark.parametrize("which", [0, 1], ids=["BestEffortFIFO", "StrictFIFO"])
def test_nobody_starves(both: tuple, which: int) -> None:
    """Every Job completes once arrivals stop, and is started exactly once."""
    settings, history, _ = both
    lives = history.of(*settings[which].teams)
    assert len(lives) == 2 * EACH
    assert [life.name for life in lives if not life.complete] == []
    assert {len(life.starts) for life in lives} == {1}


@pytest.mark.parametrize("which", [0, 1], ids=["BestEffortFIFO", "StrictFIFO"])
def test_the_quota_holds_at_every_event(both: tuple, which: int) -> None:
    """At no event do unsuspended Jobs or living pods use more than 6 CPU, and the quota is used to the full."""
    settings, history, _ = both
    assert history.peaks["jobs"][settings[which].prefix] == CPUS
    assert history.peaks["pods"][settings[which].prefix] <= CPUS


def test_strict_fifo_admits_in_the_order_of_arrival(both: tuple) -> None:
    """Nobody overtakes: a Workload that was created in an earlier second is admitted in no later one."""
    settings, history, _ = both
    assert overtakings(history.admissions_of(*settings[1].teams)) == []


def test_best_effort_fifo_lets_small_jobs_pass_a_blocked_big_one(both: tuple) -> None:
    """Jobs of one size keep their order; a small one may pass a bigger one that came earlier and waits."""
    settings, history, _ = both
    for team in settings[0].teams:
        assert overtakings(history.admissions_of(team)) == []
    passed = overtakings(history.admissions_of(*settings[0].teams))
    assert passed
    assert all(first.cpu > second.cpu for first, second in passed)


def overtakings(admissions: list[Admission]) -> list[tuple[Admission, Admission]]:
    """Pairs where the second came in a later second than the first, yet was admitted in an earlier one.

    When a Job was seen to start says nothing of it: those of one round are started side by side.
    """
    done = [found for found in admissions if found.at]
    return [
        (first, second) for first in done for second in done if first.created < second.created and second.at < first.at
    ]


def test_a_killed_sluice_loses_no_job_and_admits_none_twice(control_plane: ControlPlane, sluice: Sluice) -> None:
    """SIGKILL while Jobs run and wait, then a new start: all complete, each was started once and ran three pods."""
    setting = Setting("killed", "BestEffortFIFO")
    client = control_plane.client
    setting.create(client)
    history = History(control_plane, setting.teams)
    try:
        submit(client, [setting], 5, 0.5, 0)
        control_plane.wait("some Jobs are complete", lambda: history.finished(*setting.teams) >= 2)
        sluice.kill()
        before = history.finished(*setting.teams)
        assert before < 10
        sluice.start()
        control_plane.wait("all Jobs are complete", lambda: history.finished(*setting.teams) == 10)
    finally:
        history.close()
    lives = history.of(*setting.teams)
    assert [len(life.starts) for life in lives] == [1] * 10
    assert {len(history.pods_seen[life.name]) for life in lives} == {3}
    assert history.peaks["jobs"]["killed"] <= CPUS
    assert history.peaks["pods"]["killed"] <= CPUS
    assert len(history.admissions_of(*setting.teams)) == 10
