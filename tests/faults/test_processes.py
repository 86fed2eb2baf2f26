"""Replicas that are killed, and replicas whose clocks are wrong."""

import random
import sys
import time

import pytest

from tests.faults.proxy import Answer, some
from tests.faults.scene import LEASE_SECONDS, Replica, Scene, size

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_killed_at_random_moments(scene: Scene, role: str) -> None:
    """SIGKILL of a replica while Jobs come, and its start anew, again and again: each Job is admitted once."""
    dice, kills = random.Random(16), size(1, 25)
    with scene.jobs(size(12, 1000), rate=size(40, 10)):
        for _ in range(kills):
            time.sleep(dice.uniform(0.2, 2.0))
            replica = getattr(scene, role)
            replica.kill()
            replica.start()
    assert scene.replicas[0].starts + scene.replicas[1].starts >= 2 + kills


@pytest.mark.parametrize("fast, slow", [(2.0, 0.4)])
def test_two_leaders_by_their_clocks(scene: Scene, fast: float, slow: float) -> None:
    """One clock runs so fast that it takes each lease as expired, one so slow that it holds on to one that is lost.

    Their dates are a day apart, and many calls about the lease fail, so that each is in doubt for a while. At times
    both decide; the claims in the lease keep the quota.
    """
    doubt = some(0.4, lambda call: Answer(500, "InternalError") if "/leases" in call.path else None)
    clocks = dict(zip(scene.replicas, ((fast, 86_400), (slow, -86_400)), strict=True))
    try:
        for replica, (rate, ahead) in clocks.items():
            replica.stop()
            replica.program = [sys.executable, "-P", "-m", "tests.faults.skewed", str(rate), str(ahead)]
            replica.start()
        before = scene.epoch
        with scene.jobs(size(12, 300)), scene.faulty(doubt):
            scene.plane.wait("the lease changes hands", lambda: scene.epoch >= before + 2)
    finally:
        for replica in scene.replicas:
            replica.stop()
            replica.program = Replica.program
            replica.start()


def test_a_leader_that_is_paused(scene: Scene) -> None:
    """SIGSTOP of the leader, longer than its lease, while it decides: when it goes on, nothing of it lands."""
    with scene.jobs(size(12, 200)) as run:
        scene.plane.wait("the first Job is complete", lambda: run.complete)
        leader, epoch = scene.leader, scene.epoch
        assert leader.child is not None
        with leader.child.paused():
            scene.plane.wait("another leads", lambda: scene.epoch > epoch)
            time.sleep(LEASE_SECONDS / 2)
