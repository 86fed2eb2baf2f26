"""The same two replicas for all faults, with a control plane of its own, since some of them stop it."""

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import start
from tests.faults.two_replicas import TwoReplicas


@pytest.fixture(scope="package")
def two_replicas(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoReplicas]:
    """Two replicas of Sluice and two teams."""
    plane = start()
    made = TwoReplicas(plane, tmp_path_factory.mktemp("faults"))
    try:
        made.open()
        yield made
        made.close()
    finally:
        plane.stop(keep_logs=request.session.testsfailed > 0)
