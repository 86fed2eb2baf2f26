"""`sluice dry-run --live` on a real API server: live objects, nothing written, and what a branch changes."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.offline.running import Done, invoke
from tests.shared import ROOT
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command

pytestmark = pytest.mark.cluster

LABEL = {"tests/live": "yes"}
SELECTED = "  matchConstraints:\n    namespaceSelector: {matchLabels: {tests/live: 'yes'}}\n"
POLICY = (ROOT / "policies/gpu-integer/policy.yaml").read_text(encoding="utf-8")
POLICY = POLICY.replace("  matchConstraints:\n", SELECTED)


def spec(gpus: str) -> dict:
    resources = {"limits": {"nvidia.com/gpu": gpus}, "requests": {"nvidia.com/gpu": gpus}} if gpus else {}
    return {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i:1", "resources": resources}]}


def job(name: str, gpus: str) -> dict:
    body = {"suspend": True, "template": {"spec": spec(gpus)}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "live"}, "spec": body}


def pytorch(name: str, gpus: str) -> dict:
    roles = {"Worker": {"replicas": 2, "template": {"spec": spec(gpus)}}}
    metadata = {"name": name, "namespace": "live"}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata,
            "spec": {"pytorchReplicaSpecs": roles}}  # fmt: skip


@pytest.fixture(scope="module")
def live(kube_session: Client, foreign: None) -> Iterator[Client]:
    """A namespace with two suspended Jobs, a running one with its pod, and two PyTorchJobs, one of half a GPU."""
    kube = kube_session
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "live", "labels": LABEL}})
    running = job("runs", "")
    running["spec"]["suspend"] = False
    for obj in (job("whole", "1"), job("plain", ""), running, pytorch("fine", "2"), pytorch("half", "0.5")):
        kube.create(obj)
    while not kube.items("/api/v1/namespaces/live/pods"):
        pass
    yield kube
    kube.delete("/api/v1/namespaces/live")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository whose policies folder holds gpu-integer, and not yet bound on its main branch."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "policies" / "gpu.yaml"
    file.parent.mkdir()
    file.write_text(POLICY.split("\n---\n")[0])
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *command], check=True, capture_output=True)
    file.write_text(POLICY)
    return tmp_path


def run(plane: ControlPlane, *options: str) -> Done:
    return invoke(dry_run_command, "--context", "tests", "--kubeconfig", str(plane.kubeconfig), *options)


def versions(kube: Client) -> list[str]:
    """The versions of the objects that no controller of this control plane works on."""
    return [o["metadata"]["resourceVersion"] for o in kube.items("/apis/kubeflow.org/v1/namespaces/live/pytorchjobs")]


def test_live_objects_are_tried(control_plane: ControlPlane, live: Client, repository: Path) -> None:
    """Jobs and PyTorchJobs of the cluster get verdicts, with the labels of their real namespaces; pods of jobs none."""
    before = versions(live)
    done = run(control_plane, "-o", "json")
    assert done.exit_code == exits.FAILED, done.stderr
    found = {(o["kind"], o["name"]): o for o in json.loads(done.stdout)["objects"] if o.get("namespace") == "live"}
    assert {key: o["state"] for key, o in found.items()} == {
        ("Job", "whole"): "allowed", ("Job", "plain"): "allowed", ("Job", "runs"): "allowed",
        ("PyTorchJob", "fine"): "allowed", ("PyTorchJob", "half"): "denied",
    }  # fmt: skip
    assert "asks for 0.5 of nvidia.com/gpu" in found["PyTorchJob", "half"]["denials"][0]
    assert versions(live) == before


NOTE = (
    r"note: by default, Sluice is not called for objects in namespaces without the label sluice\.dev/managed=true: "
    r"(?:[\w-]+, )*live(?:, [\w-]+)*\n"
)
"""Other tests may have left a namespace of their own."""


def test_a_pull_request_gets_its_sentence(control_plane: ControlPlane, live: Client, repository: Path) -> None:
    """Against the main branch, and against a folder, the live object that would be refused from now on is counted."""
    done = run(control_plane, "--against", "main")
    assert done.exit_code == exits.FAILED, done.stderr
    assert "PyTorchJob live/half: now denied" in done.stdout
    assert counted(r"1 of (\d+) objects would now be denied\.\n\Z", done.stdout) >= 5
    markdown = run(control_plane, "--against", "main", "-o", "markdown").stdout
    assert counted(r"- 1 of (\d+) objects would now be denied", markdown) >= 5
    same = run(control_plane, "--against", "policies")
    assert same.exit_code == exits.PASSED
    assert counted(rf"\A{NOTE}No change for (\d+) objects\.\n\Z", same.stdout) >= 5


def counted(pattern: str, text: str) -> int:
    """How many objects there were: what other tests left behind may go between two looks."""
    found = re.search(pattern, text)
    assert found is not None, text
    return int(found[1])
