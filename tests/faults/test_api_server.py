"""The API server and its store away for a while, under both replicas."""

import time

import pytest

from tests.faults.two_replicas import TwoReplicas, size

pytestmark = pytest.mark.cluster


def test_etcd_is_stopped(two_replicas: TwoReplicas) -> None:
    """SIGSTOP of etcd, longer than a lease: no call is answered; afterwards all goes on where it was."""
    with two_replicas.jobs(size(12, 200)) as run:
        two_replicas.plane.wait("the first Job is complete", lambda: run.complete)
        with two_replicas.plane.child("etcd").paused():
            time.sleep(size(6, 20))


def test_the_api_server_is_restarted(two_replicas: TwoReplicas) -> None:
    """SIGKILL of the API server and its start anew: connections are lost, and the versions that watches go on from."""
    for _ in range(size(1, 5)):
        with two_replicas.jobs(size(12, 100), gaps=True) as run:
            two_replicas.plane.wait("the first Job is complete", lambda: run.complete)
            two_replicas.plane.restart_api_server()


def test_many_jobs_at_once(two_replicas: TwoReplicas) -> None:
    """Sixteen creators send as many Jobs as the API server takes, without a pause between them."""
    with two_replicas.quota(size(10, 100)), two_replicas.jobs(size(100, 10_000), rate=1e6, creators=16):
        pass
