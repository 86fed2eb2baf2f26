"""Fixtures: the chart, installed once for all these tests; each test finds it as its default values make it.

No administrator helps: what the processes may do is what the chart's roles give their ServiceAccounts.
"""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import with_nodes
from tests.e2e import git_sync
from tests.e2e.install.policies import denying
from tests.e2e.node import Node
from tests.e2e.release import CHART, VALUES, Release
from tests.image.build import Image

JOURNAL = ("--set=journal.enabled=true", "--set=journal.persistent=true")
RECIPE = "A git sidecar, for example:\n\n```yaml\n"


@pytest.fixture(scope="package")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane of its own: the other tests have a Sluice in theirs."""
    with with_nodes(request.session) as made:
        yield made


@pytest.fixture(scope="package")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of policies, of which the first commit denies Services."""
    found = tmp_path_factory.mktemp("repository")
    (found / "policies").mkdir()
    (found / "policies" / "services.yaml").write_text(denying("services"))
    return found


@pytest.fixture(scope="package")
def installed(
    plane: ControlPlane, image: Image, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The chart, installed with the git sidecar of its README; its processes have ended when the tests are over."""
    home = tmp_path_factory.mktemp("node")
    node = Node(plane, image, home)
    node.programs["YOUR/git-sync:v4"] = [sys.executable, str(Path(git_sync.__file__))]
    node.elsewhere["https://git.example.com/policies"] = str(repository)
    made = Release(node)
    recipe = (CHART / "README.md").read_text().partition(RECIPE)[2].partition("```")[0]
    (home / "values.yaml").write_text(recipe)
    made.values = (*VALUES, f"--values={home / 'values.yaml'}")
    try:
        made.install()
        yield made
    finally:
        with contextlib.suppress(Exception):
            made.uninstall()
        node.stop()


@pytest.fixture
def release(installed: Release) -> Release:
    """The release with its default values, whatever the tests before have done with it."""
    installed.restore()
    return installed


@pytest.fixture
def journalled(release: Release) -> Release:
    """The release with journals on claims, for which there are volumes."""
    for number in range(2):
        size, path = {"storage": "5Gi"}, {"path": f"/kept/{number}"}
        spec = {"capacity": size, "accessModes": ["ReadWriteOnce"], "hostPath": path, "storageClassName": ""}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{number}"}, "spec": spec}
        release.client.apply(volume)
    release.install(*JOURNAL)
    return release
