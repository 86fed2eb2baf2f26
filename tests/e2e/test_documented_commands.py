"""The commands of the documentation that need a cluster: each runs, as written, against a real API server."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.build import binary
from tests.controlplane.cluster import ControlPlane
from tests.docs.commands import PAGES, named
from tests.docs.console import Shell
from tests.docs.markdown import DOCS, Block, blocks
from tests.e2e.sluice import Sluice

pytestmark = pytest.mark.cluster

ELSEWHERE = ("make ", "helm ", "pip install 'sluice-gate")
"""How the blocks begin that need no cluster: tests/cli/test_run.py does what `make run` does, CI runs `make test`, and
`make shell` is tested below. tests/e2e/test_crds_takeover.py installs the chart where a Kueue was. The distribution is
not on an index."""
CLUSTER_QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
TRACE = "time,namespace,queue,cpu,run\n0,team-a,gpu,1,60\n1,team-a,gpu,1,30\n"
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "kueue"}},
        "template": {
            "metadata": {"labels": {"app": "kueue"}},
            "spec": {"containers": [{"name": "manager", "image": "registry.example/kueue:1"}]},
        },
    },
}
IN_A_NAMESPACE: list[dict[str, Any]] = [
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "documented", "namespace": "documented"},
        "spec": {"clusterQueue": "documented"},
    },
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
        "data": {"controller_manager_config.yaml": "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration}"},
    },
]
"""A LocalQueue, and Kueue's Configuration as its release stores it."""
HOOKS: list[dict[str, Any]] = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "documented", "labels": {"app.kubernetes.io/name": "kueue"}},
    }
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
]


def shown() -> list[tuple[Path, Block]]:
    """Every `sh` block of the documentation; a translated page shows the same ones."""
    pages = sorted(page for page in DOCS.rglob("*.md") if "zh" not in page.parts)
    return [(page, block) for page in pages for block in blocks(page) if block.language == "sh"]


NAMES = {
    "NS": "sluice-system",
    "POD": "sluice-0",
    "NAME": "documented",
    "NAMESPACE": "documented",
    "VERB": "get",
    "RESOURCE": "jobs",
}
"""What stands for the names that a reader fills in."""
INCOMPLETE = {
    "kubectl apply",
    "kubectl delete",
    "kubectl get -o yaml",
    "kubectl sluice",
    "kubectl -n NS describe certificate",
}
"""What a page names as a whole, without what it is applied to; and a kind of cert-manager."""
NAMED = {
    command: page
    for page in PAGES
    for command in named(page)
    if command.startswith("kubectl ") and command not in INCOMPLETE and " -f " not in command and "|" not in command
}
CASES = [
    (page, block) for page, block in shown() if page != DOCS / "install.md" and not block.text.startswith(ELSEWHERE)
]
"""The guide to the chart runs where the chart is installed: tests/e2e/install."""


def kubectl() -> Path:
    """The machine's `kubectl`, else one that is built once."""
    found = shutil.which("kubectl")
    return Path(found) if found else binary("kubectl")


@pytest.fixture(scope="module")
def documented(control_plane: ControlPlane, sluice: Sluice) -> Iterator[ControlPlane]:
    """A cluster that has what the pages speak of: queues, Kueue's Deployment, its Configuration and its webhooks.

    The namespaces stay: other tests of the process apply them too, and one that is on its way out takes no objects.
    """
    client = control_plane.client
    queue: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "documented"},
        "spec": {"namespaceSelector": {}},
    }
    for name in ("kueue-system", "documented"):
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    made: list[dict[str, Any]] = [queue, *IN_A_NAMESPACE, DEPLOYMENT, *HOOKS]
    for obj in made:
        client.apply(obj)
    others = {obj["metadata"]["name"]: obj["spec"].get("stopPolicy") for obj in client.items(CLUSTER_QUEUES)}
    spaces = {obj["metadata"]["namespace"] for obj in client.items("/apis/kueue.x-k8s.io/v1beta2/localqueues")}
    labels = {
        obj["metadata"]["name"]: obj["metadata"]["labels"]
        for obj in client.items("/api/v1/namespaces")
        if obj["metadata"]["name"] in spaces and "deletionTimestamp" not in obj["metadata"]
    }
    yield control_plane
    for name, policy in others.items():  # a page stops every queue
        client.merge(f"{CLUSTER_QUEUES}/{name}", {"spec": {"stopPolicy": policy}})
    for name, before in labels.items():  # and labels every namespace with a queue
        managed = before.get("sluice.dev/managed")
        client.merge(f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"sluice.dev/managed": managed}}})
    for obj in reversed(made):
        client.delete(client.path_of(obj))


@pytest.fixture
def shell(documented: ControlPlane, tmp_path: Path) -> Shell:
    """A policy repository in git, and a kubeconfig whose context is called as in the pages."""
    shell = Shell(tmp_path)
    config = json.loads(documented.kubeconfig.read_text())
    config["contexts"][0]["name"] = config["current-context"] = "prod"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    shell.environment["KUBECONFIG"] = str(file)
    shell.environment["PATH"] += f":{kubectl().parent}"
    shell.write("trace.csv", TRACE)
    shell.write("live/.keep", "")
    shell.write("held", "documented")
    shell.run("sluice init --force")
    shell.run("git init -q -b main . && git add -A && git commit -q -m begin")
    return shell


@pytest.mark.parametrize(("page", "block"), CASES, ids=lambda each: each.stem if isinstance(each, Path) else "")
def test_a_command_does_what_the_page_says(documented: ControlPlane, shell: Shell, page: Path, block: Block) -> None:
    """Its exit code is 0, and it writes the file that it names."""
    for file in blocks(page):
        if file.title:
            shell.write(file.title, file.text)
    done = subprocess.run(
        ["bash", "-ec", block.text],
        cwd=shell.folder,
        env=shell.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if ">" in block.text:
        written = shell.folder / block.text.split(">")[1].strip()
        read = yaml.safe_load(written.read_text())
        assert read.get("items") or read["kind"] == "Configuration"
    else:
        assert done.stdout
    if "stopPolicy" in block.text:
        queue = documented.client.get(f"{CLUSTER_QUEUES}/documented")
        assert queue["spec"]["stopPolicy"] == ("Hold" if "Hold" in block.text else "None")
    if "label namespace" in block.text:
        labels = documented.client.get("/api/v1/namespaces/documented")["metadata"]["labels"]
        assert labels["sluice.dev/managed"] == "true"
    if "scale" in block.text:
        assert documented.client.get(documented.client.path_of(DEPLOYMENT))["spec"]["replicas"] == 0
        paths = [documented.client.path_of(obj) for obj in HOOKS]
        assert [documented.client.request("GET", path).status for path in paths] == [404, 404]


@pytest.mark.parametrize("command", NAMED)
def test_a_named_command_is_understood(shell: Shell, command: str) -> None:
    """`kubectl` and the API server know all of it; that an object is not there is the only thing they may say."""
    filled = re.sub(r"\b[A-Z]+\b", lambda word: NAMES.get(word[0], word[0]), command)
    filled += " --dry-run=server" if " delete " in filled else ""  # other tests need what is there
    done = subprocess.run(
        ["bash", "-c", filled], cwd=shell.folder, env=shell.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or "not found" in done.stderr or done.stdout == "no\n", done.stderr


def test_the_shell_has_sluice_on_its_path() -> None:
    """`make shell`, of the tutorial's first step."""
    root = DOCS.parent
    done = subprocess.run(
        ["make", "shell"], cwd=root, input="command -v sluice\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert str(root / ".venv" / "bin" / "sluice") in done.stdout.splitlines()
