"""A Kueue is gone, and its CRDs convert at its Service: the chart takes them over, and the Kueue's `helm uninstall`
deletes nothing. Kueue's CRDs come by Helm itself, as templates of a chart.
"""

import asyncio
import contextlib
import subprocess
from collections.abc import Iterator
from time import monotonic

import pytest

from tests.chart.helm import helm
from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import with_nodes
from tests.e2e.kueue_crds import CONVERTED, crds_of_kueue
from tests.e2e.node import Node
from tests.e2e.release import Release
from tests.e2e.sluice import managed
from tests.image.build import Image
from tests.patience import wait
from webhook.cluster.api.client import Client as LiveClient
from webhook.cluster.api.client import Pace
from webhook.cluster.api.kinds import CLUSTER_QUEUE
from webhook.cluster.api.live_store import LiveStore
from webhook.documents import dump
from webhook.readiness import _CONVERTER
from webhook.store.errors import StoreError

pytestmark = pytest.mark.cluster
GROUP = "/apis/kueue.x-k8s.io"
SPACE = "team"
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
POD["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
OBJECTS = [
    {"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
    {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"namespaceSelector": {}, "resourceGroups": [
        {"coveredResources": ["cpu"], "flavors": [
            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "2"}]}]}]}},
    {"kind": "LocalQueue", "metadata": {"name": "main", "namespace": SPACE}, "spec": {"clusterQueue": "cq"}},
    {"kind": "Workload", "metadata": {"name": "w", "namespace": SPACE}, "spec": {
        "queueName": "main", "podSets": [{"name": "main", "count": 1, "template": POD}]}},
]  # fmt: skip
"""As a Kueue of v1beta1 stored them."""


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane of its own, in which a Kueue was: its CRDs by Helm, and objects."""
    with with_nodes(request.session) as made:
        yield made


@pytest.fixture(scope="module")
def left(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The cluster as a Kueue of v1beta1 left it, whose controller is gone."""
    chart = tmp_path_factory.mktemp("kueue")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: kueue, version: 0.1.0}")
    (chart / "templates" / "crds.yaml").write_text("---\n".join(map(dump, crds_of_kueue("v1beta1"))))
    run_helm(plane, "install", "kueue", str(chart), "--namespace=kueue-system", "--create-namespace")
    client = plane.client
    client.apply(managed(SPACE))
    for obj in OBJECTS:
        obj = {"apiVersion": "kueue.x-k8s.io/v1beta1", **obj}
        wait(lambda obj=obj: served(client, obj), "the CRD is served")
        client.create(obj)
    return client


def served(client: Client, obj: dict) -> bool:
    try:
        return client.request("GET", client.path_of(obj, collection=True)).status == 200
    except (ApiError, LookupError):
        return False


def run_helm(plane: ControlPlane, *arguments: str) -> str:
    """What Helm prints; raises RuntimeError with it where it fails."""
    call = [str(helm()), *arguments, f"--kubeconfig={plane.kubeconfig}"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def release(
    left: Client, plane: ControlPlane, image: Image, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    node = Node(plane, image, tmp_path_factory.mktemp("node"))
    made = Release(node)
    try:
        yield made
    finally:
        with contextlib.suppress(Exception):
            made.uninstall()
        node.stop()


def definition(client: Client, plural: str) -> dict:
    return client.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.kueue.x-k8s.io")


def test_nobody_converts_any_more(release: Release, plane: ControlPlane) -> None:
    """What was stored as v1beta1 cannot be listed; readiness finds the Service to blame in the API server's words."""

    async def told() -> str:
        client = await LiveClient.connect(plane.kubeconfig, None, Pace(), monotonic)
        try:
            await LiveStore(client).list(CLUSTER_QUEUE)
        except StoreError as error:
            return str(error)
        finally:
            await client.close()
        return ""

    found = _CONVERTER.search(asyncio.run(told()))
    assert found is not None
    assert found[1] == "kueue-webhook-service.kueue-system"


def test_a_dry_run_shows_what_would_be_taken_over(release: Release) -> None:
    """The API server checks it, and nothing is written."""
    before = definition(release.client, "workloads")
    command = [*release.node.image.command, "crds", "--take-over", "--dry-run"]
    call = [*command, f"--kubeconfig={release.node.plane.kubeconfig}"]
    told = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert "workloads.kueue.x-k8s.io: taken over from the Helm release kueue  (dry run)\n" in told
    assert definition(release.client, "workloads") == before


def test_the_chart_takes_the_crds_over(release: Release) -> None:
    """Installed from nothing, with no replica that could convert before: objects stay, and are stored as v1beta2."""
    client = release.client
    release.install("--set=crds.takeOver=true")
    for plural in CONVERTED:
        found = definition(client, plural)
        assert found["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] == "sluice"
        assert found["status"]["storedVersions"] == ["v1beta2"], plural
    for obj in OBJECTS:
        for version in ("v1beta1", "v1beta2"):
            found = client.get(client.path_of({"apiVersion": f"kueue.x-k8s.io/{version}", **obj}))
            assert found["apiVersion"] == f"kueue.x-k8s.io/{version}"
    for pod in release.node.pods.values():
        wait(lambda pod=pod: "[+]view ok\n" in pod.told("/readyz?verbose"), "everything is listed")
    path = f"{GROUP}/v1beta2/namespaces/{SPACE}/workloads/w"
    wait(lambda: client.get(path).get("status", {}).get("admission"), "the Workload of the Kueue is admitted")


def test_the_uninstall_of_the_kueue_deletes_nothing(release: Release) -> None:
    """Helm goes by its own record, and is denied; what was Kueue's stays. A person who tries reads what to do."""
    with pytest.raises(RuntimeError, match="failed to delete release: kueue"):
        run_helm(release.node.plane, "uninstall", "kueue", "--namespace=kueue-system")
    path = release.client.path_of(definition(release.client, "workloads"))
    for obj in OBJECTS:
        found = release.client.get(release.client.path_of({"apiVersion": "kueue.x-k8s.io/v1beta2", **obj}))
        assert "deletionTimestamp" not in found["metadata"]
    with pytest.raises(ApiError, match="deleting it deletes every Workload") as denied:
        release.client.delete(path)
    assert denied.value.message.endswith("kubectl annotate crd workloads.kueue.x-k8s.io helm.sh/resource-policy-")
