"""Replicas whose clocks are wrong: they run fast or slow, or jump, at the leader or at the follower.

A lease is kept by clocks. With these lease times only one replica leads as long as no clock runs more than five thirds
as fast as the other's (`tests/cluster/api/test_clock_drift.py`). Beyond that both may, for a while; whom each admits is
kept apart by the claim in the lease, which no clock has a part in (docs/decisions/0129).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.clock import Clock, path_of
from tests.faults.proxy import Answer, Call, Fault
from tests.faults.two_replicas import FULL, TwoReplicas, size

pytestmark = pytest.mark.cluster
AWAY = Answer(500, "InternalError")


@dataclass(frozen=True, slots=True)
class Skew:
    """What is wrong with the clocks of one replica, and whether the other takes the lease from it, or it from him."""

    role: str
    clock: dict[str, float] = field(default_factory=dict)
    hands_over: bool = False


SKEWS = {
    "leader at a tenth": Skew("leader", {"rate": 0.1}, hands_over=True),
    "follower twelve times as fast": Skew("follower", {"rate": 12}, hands_over=True),
    "leader an hour ahead": Skew("leader", {"jump": 3600}),
    "leader at three quarters": Skew("leader", {"rate": 0.75}),
    "leader three times as fast": Skew("leader", {"rate": 3}),
    "leader's date an hour back": Skew("leader", {"date": -3600}),
    "follower at a tenth": Skew("follower", {"rate": 0.1}),
    "follower half as fast again": Skew("follower", {"rate": 1.5}),
    "follower an hour ahead": Skew("follower", {"jump": 3600}),
    "follower's date an hour back": Skew("follower", {"date": -3600}),
}
FEW = 3
"""So many of them in `make test`."""
AT_MOST = 60.0
"""Seconds for which a clock is wrong. On a busy machine a replica whose clock is fast gives up each lead before it has
decided anything: a renewal takes longer than its lease lasts."""


@pytest.fixture(scope="module")
def clocks(two_replicas: TwoReplicas, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Clock]]:
    """The clock of each replica, by its name; both replicas are started with theirs, and without one afterwards."""
    folder: Path = tmp_path_factory.mktemp("clocks")
    plain = {replica.name: replica.environment for replica in two_replicas.replicas}
    made = {}
    for replica in two_replicas.replicas:
        clock = made[replica.name] = Clock(folder / replica.name)
        replica.environment = {**replica.environment, **clock.environment, "PYTHONPATH": path_of(replica.environment)}
        replica.stop()
        replica.start()
    yield made
    for replica in two_replicas.replicas:
        replica.environment = plain[replica.name]
        replica.stop()
        replica.start()


@pytest.mark.parametrize(
    "skew", list(SKEWS.values())[: None if FULL else FEW], ids=list(SKEWS)[: None if FULL else FEW]
)
def test_a_clock_that_is_wrong(two_replicas: TwoReplicas, clocks: dict[str, Clock], skew: Skew) -> None:
    """Jobs come meanwhile: each is admitted once, none is lost, no quota is passed, whoever leads, and how many."""
    with two_replicas.jobs(size(24, 400)) as run:
        two_replicas.plane.wait("the first Job is complete", lambda: run.complete)
        epoch, clock = two_replicas.epoch, clocks[getattr(two_replicas, skew.role).name]
        try:
            clock.set(**skew.clock)
            if skew.hands_over:
                two_replicas.plane.wait("the lease has another holder", lambda: two_replicas.epoch > epoch)
            end = time.monotonic() + AT_MOST
            two_replicas.plane.wait(
                "half of the Jobs are complete", lambda: run.complete > len(run.names) / 2 or time.monotonic() > end
            )
        finally:
            clock.set()


def slow_down(two_replicas: TwoReplicas, clocks: dict[str, Clock], cut_off: Fault) -> int:
    """Do it to the leader, and give its epoch; to the next one where the lead has moved meanwhile, unasked."""
    while True:
        epoch = two_replicas.epoch
        leader = two_replicas.leader
        clocks[leader.name].set(rate=0.1)
        leader.proxy.fault = cut_off
        if two_replicas.epoch == epoch:
            return epoch
        mend(two_replicas, clocks)


def mend(two_replicas: TwoReplicas, clocks: dict[str, Clock]) -> None:
    """Let both replicas be as they were."""
    for replica in two_replicas.replicas:
        clocks[replica.name].set()
        replica.proxy.fault = None


def test_a_slow_leader_that_is_cut_off_from_its_lease(two_replicas: TwoReplicas, clocks: dict[str, Clock]) -> None:
    """By its clock it leads for ten times as long as by the other's: it writes beside the next leader, to no effect."""
    written: list[float] = []

    def cut_off(call: Call) -> Answer | None:
        if "/leases" in call.path:
            return AWAY
        if call.writes:
            written.append(time.monotonic())
        return None

    with two_replicas.jobs(size(40, 400), rate=20) as run:
        two_replicas.plane.wait("the first Job is complete", lambda: run.complete)
        try:
            epoch = slow_down(two_replicas, clocks, cut_off)
            two_replicas.plane.wait("another leads", lambda: two_replicas.epoch > epoch)
            since = time.monotonic()
            two_replicas.plane.wait(
                "the former leader writes as well", lambda: any(at > since for at in written) or run.over
            )
        finally:
            mend(two_replicas, clocks)
    assert any(at > since for at in written), "it wrote nothing: two leaders were not tried"
