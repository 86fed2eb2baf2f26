"""Calls to the API server that fail, hang or lie, at both replicas while Jobs come, wait and run."""

import pytest

from tests.faults.proxy import Answer, Fault, Lose, some
from tests.faults.two_replicas import TwoReplicas, repeated, size

pytestmark = pytest.mark.cluster

JOBS = size(12, 100)
EXPIRED = {"status": 410, "reason": "Expired"}


def writes(act: Answer | Lose) -> Fault:
    """Of every write but those to the lease."""
    return lambda call: act if call.writes and "/leases" not in call.path else None


FAULTS: dict[str, Fault] = {
    "409 to half of all writes": some(0.5, writes(Answer(409, "Conflict"))),
    "429 to a third of all calls": some(0.3, lambda call: Answer(429, "TooManyRequests", retry_after=0)),
    "500 to a third of all calls": some(0.3, lambda call: Answer(500, "InternalError")),
    "410 to half of all watches": some(0.5, lambda call: Answer(**EXPIRED) if call.watch else None),
    "410 as an event": some(0.5, lambda call: Answer(**EXPIRED, as_event=True) if call.watch else None),
    "every fifth answer lost": some(0.2, lambda call: Lose() if call.writes else None),
    "writes that come seconds late": some(0.1, writes(Lose(after=3.0))),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_calls_that_fail(two_replicas: TwoReplicas, fault: Fault) -> None:
    """Whatever is answered in the API server's place, every Job is admitted once and comes to its end."""
    before = two_replicas.hits()
    with two_replicas.faulty(fault), two_replicas.jobs(JOBS):
        end_watches(two_replicas)
    assert two_replicas.hits() > before


def end_watches(two_replicas: TwoReplicas) -> None:
    """Let new watches begin."""
    for replica in two_replicas.replicas:
        replica.proxy.cut_watches()


def test_watches_are_cut_again_and_again(two_replicas: TwoReplicas) -> None:
    """Both replicas lose all watches every third of a second; nothing is missed, and nothing seen twice."""
    before = two_replicas.hits()
    with two_replicas.jobs(JOBS) as run, repeated(0.3, lambda: end_watches(two_replicas)):
        two_replicas.plane.wait("half of the Jobs are complete", lambda: run.complete > JOBS / 2)
    assert two_replicas.hits() > before
