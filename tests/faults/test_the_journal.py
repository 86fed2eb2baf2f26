"""The disk of the journal is full, and what all faults left in the journals."""

import resource

import pytest

from tests.faults.two_replicas import TwoReplicas, size

pytestmark = pytest.mark.cluster


def test_a_full_disk_delays_nobody(two_replicas: TwoReplicas) -> None:
    """No file of the replicas may grow any more: the journal has a gap, and says so; every Job comes through.

    Of both, since the lead may move on a busy machine; only the leader writes a journal.
    """

    def lost() -> float:
        return sum(dropped(replica.state("/metrics")) for replica in two_replicas.replicas)

    pids = [replica.child.process.pid for replica in two_replicas.replicas if replica.child is not None]
    before = lost()
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        with two_replicas.jobs(size(12, 200)):
            two_replicas.plane.wait("the journal loses records", lambda: lost() > before)
    finally:
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def dropped(metrics: str) -> float:
    """Records that the journal lost."""
    line = next(
        line for line in metrics.splitlines() if line.startswith('sluice_journal_records_total{result="dropped"')
    )
    return float(line.split()[-1])


def test_what_was_decided_under_faults_is_decided_again(two_replicas: TwoReplicas) -> None:
    """The journals of both replicas replay to the same decisions, file by file."""
    with two_replicas.jobs(2):
        pass
    told = two_replicas.replicas[0].command(
        "journal", "replay", *(str(r.journal) for r in two_replicas.replicas if r.journal.exists())
    )
    assert "all the same" in told
