"""Replicas that are killed or paused."""

import random
import time

import pytest

from tests.faults.two_replicas import LEASE_SECONDS, TwoReplicas, size

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_killed_at_random_moments(two_replicas: TwoReplicas, role: str) -> None:
    """SIGKILL of a replica while Jobs come, and its start anew, again and again: each Job is admitted once."""
    dice, kills = random.Random(16), size(1, 25)
    with two_replicas.jobs(size(12, 1000), rate=size(40, 10)):
        for _ in range(kills):
            time.sleep(dice.uniform(0.2, 2.0))
            replica = getattr(two_replicas, role)
            replica.kill()
            replica.start()
    assert two_replicas.replicas[0].starts + two_replicas.replicas[1].starts >= 2 + kills


def test_a_leader_that_is_paused(two_replicas: TwoReplicas) -> None:
    """SIGSTOP of the leader, longer than its lease, while it decides: when it goes on, nothing of it lands."""
    with two_replicas.jobs(size(12, 200)) as run:
        two_replicas.plane.wait("the first Job is complete", lambda: run.complete)
        epoch = two_replicas.epoch  # before the leader: where the lead moves in between, another one leads already
        leader = two_replicas.leader
        assert leader.child is not None
        with leader.child.paused():
            two_replicas.plane.wait("another leads", lambda: two_replicas.epoch > epoch)
            time.sleep(LEASE_SECONDS / 2)
