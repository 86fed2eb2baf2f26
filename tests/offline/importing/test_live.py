"""A live Kueue as a repository: what its controller left in a real API server, with its ConfigMap."""

import copy
from pathlib import Path

import pytest

from tests.e2e.crds import install
from tests.offline.running import invoke
from tests.shared import ROOT
from webhook import documents
from webhook.api.crds.definitions import definitions
from webhook.cli import exits
from webhook.cli.commands.policies.import_policies import import_command
from webhook.cli.commands.policies.init import init_command
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.test import test as suites_command
from webhook.config import load

pytestmark = pytest.mark.cluster
RECORDED = ROOT / "tests" / "e2e" / "recorded" / "kueue.yaml"
KINDS = ("ResourceFlavor", "ClusterQueue", "LocalQueue")
CONFIGURATION = (
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n"
)


@pytest.fixture
def live(control_plane, namespace, tmp_path, monkeypatch):
    """A cluster whose Kueue has a queue, in a namespace of the test's own, and the kubeconfig for it."""
    client = control_plane.client
    names = {obj["metadata"]["name"] for obj in client.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")}
    # Where another test of the process has installed Sluice, its CRDs have more versions than these.
    install(control_plane, *(made for made in definitions() if made["metadata"]["name"] not in names))
    found = [copy.deepcopy(d.value) for d in documents.read(RECORDED.read_text(), RECORDED.name)]
    objects = [obj for obj in found if obj["kind"] in KINDS]
    spec = {"limits": [{"type": "Container", "default": {"cpu": 4}}]}
    objects.append(
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": namespace}, "spec": spec}
    )
    objects.append(
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vm"}, "handler": "vm"}
    )
    for obj in objects:
        obj["metadata"].pop("finalizers", None)
        if obj["kind"] == "LocalQueue":
            obj["metadata"]["namespace"] = namespace
        client.apply(obj)
    labels = {"app.kubernetes.io/name": "kueue"}
    metadata = {"name": "kueue-manager-config", "namespace": namespace, "labels": labels}
    data = {"controller_manager_config.yaml": CONFIGURATION}
    client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    yield namespace, str(control_plane.kubeconfig)
    for obj in reversed(objects):
        client.delete(client.path_of(obj))
    paths = [client.path_of(obj) for obj in objects]
    # a finalizer may hold them, and the next test makes objects of the same names
    control_plane.wait("they are gone", lambda: all(client.request("GET", path).status == 404 for path in paths))


def test_a_live_kueue_is_imported(live, monkeypatch):
    """Its queues in the form that git keeps, its settings, its namespace; what was written lints and passes."""
    namespace, kubeconfig = live
    done = invoke(import_command, "kueue", "--live", "--kubeconfig", kubeconfig, "-o", "repository")
    assert done.exit_code == exits.PASSED, done.stdout + done.stderr
    monkeypatch.chdir("repository")
    local = [found.value["metadata"] for found in documents.read(Path("cluster/local-queues.yaml").read_text())]
    assert {"name": "main", "namespace": namespace} in local  # beside those of other tests
    flavor, queues = (Path(f"cluster/{name}.yaml").read_text() for name in ("flavors", "queues"))
    assert ("name: f" in flavor, "name: cq" in queues, "managedFields" in flavor + queues) == (True, True, False)
    limits = [found.value["metadata"] for found in documents.read(Path("cluster/limit-ranges.yaml").read_text())]
    assert {"name": "l", "namespace": namespace} in limits
    assert "name: vm" in Path("cluster/runtime-classes.yaml").read_text()
    config = load(Path(".sluice.yaml"), {}, {})
    assert (config.queue_rules, config.queues.fair_sharing is not None) == (("kueue-fair",), True)
    assert invoke(lint_command, ".").exit_code == exits.PASSED
    assert invoke(suites_command, ".").exit_code == exits.PASSED


def test_init_does_the_same_with_the_current_context(live):
    """`sluice init --from-kueue live` reads the cluster of the kubeconfig, and writes the same files."""
    assert invoke(import_command, "kueue", "--live", "-o", "imported").exit_code == exits.PASSED
    assert invoke(init_command, "started", "--from-kueue", "live").exit_code == exits.PASSED
    one, other = (
        {file.relative_to(folder): file.read_bytes() for file in Path(folder).rglob("*") if file.is_file()}
        for folder in ("imported", "started")
    )
    assert one == other
