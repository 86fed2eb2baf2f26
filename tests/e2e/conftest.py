"""Fixtures of the end-to-end tests: foreign CRDs, and one Sluice for the session."""

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.crds import install_foreign
from tests.e2e.params import keep_watches
from tests.e2e.sluice import Sluice


@pytest.fixture(scope="session")
def kube_session(control_plane: ControlPlane) -> Client:
    """The client of `kube`, for fixtures of a wider scope."""
    return control_plane.client


@pytest.fixture(scope="session")
def foreign(control_plane: ControlPlane) -> None:
    """The CRDs of other projects' kinds."""
    install_foreign(control_plane)


@pytest.fixture(scope="session")
def watched_params(control_plane: ControlPlane) -> None:
    """Parameters of native policies are watched until the end of the session."""
    keep_watches(control_plane.client)


@pytest.fixture(scope="session")
def sluice(control_plane: ControlPlane, foreign: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sluice]:
    """Sluice with the shipped policies and the rights that the chart gives it, no others; registered, running."""
    made = Sluice(control_plane, tmp_path_factory.mktemp("sluice"))
    made.install()
    made.restrict()
    made.start()
    made.register()
    yield made
    made.unregister()
    made.stop()
    assert made.refusals() == [], "the chart lacks a right"
