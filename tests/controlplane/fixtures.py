"""Pytest fixtures: one control plane for the whole session, with nodes; its logs stay when a test failed."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.controlplane import nodes
from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane, start

NODES = (nodes.node("cpu-1"), nodes.node("cpu-2"), nodes.gpu_node("gpu-1"), nodes.gpu_node("gpu-2"))


@contextmanager
def with_nodes(session: pytest.Session) -> Iterator[ControlPlane]:
    """A control plane with two plain nodes and two GPU nodes, all ready, until the block ends."""
    plane = start()
    try:
        client = plane.client
        nodes.add(client, *NODES)
        plane.wait("all nodes are ready", lambda: all(map(nodes.is_ready, client.items("/api/v1/nodes"))))
        yield plane
    finally:
        plane.stop(keep_logs=session.testsfailed > 0)


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The control plane that the tests of a process share."""
    with with_nodes(request.session) as plane:
        yield plane


@pytest.fixture
def kube(control_plane: ControlPlane) -> Client:
    """A client of the control plane with all rights."""
    return control_plane.client


@pytest.fixture
def namespace(kube: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, deleted after it."""
    name = f"t-{abs(hash(request.node.nodeid)):x}"[:20]
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    _await_account(kube, name)
    yield name
    kube.delete(f"/api/v1/namespaces/{name}")


def _await_account(kube: Client, name: str) -> None:
    path = f"/api/v1/namespaces/{name}/serviceaccounts"
    while not kube.items(path):
        pass
