"""Replicas that are killed or paused."""

import random
import time

import pytest

from tests.faults.scene import LEASE_SECONDS, Scene, size

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


def test_a_leader_that_is_paused(scene: Scene) -> None:
    """SIGSTOP of the leader, longer than its lease, while it decides: when it goes on, nothing of it lands."""
    with scene.jobs(size(12, 200)) as run:
        scene.plane.wait("the first Job is complete", lambda: run.complete)
        leader, epoch = scene.leader, scene.epoch
        assert leader.child is not None
        with leader.child.paused():
            scene.plane.wait("another leads", lambda: scene.epoch > epoch)
            time.sleep(LEASE_SECONDS / 2)
