"""One scene for all faults: a control plane of its own, since some of them stop it."""

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import start
from tests.faults.scene import Scene


@pytest.fixture(scope="package")
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Two replicas of Sluice and two teams."""
    plane = start()
    made = Scene(plane, tmp_path_factory.mktemp("faults"))
    try:
        made.open()
        yield made
        made.close()
    finally:
        plane.stop(keep_logs=request.session.testsfailed > 0)
