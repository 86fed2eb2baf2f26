"""The control plane itself, without Sluice: what the other tests stand on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.build import VERSION
from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.processes import Child
from tests.patience import wait

pytestmark = pytest.mark.cluster


def job(name: str, namespace: str, **spec: object) -> dict[str, object]:
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"sluice.dev/run-seconds": "0.3"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parallelism": 3, "completions": 3, "template": template, **spec},
    }


def has(obj: dict, kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in obj["status"].get("conditions", []))


def test_a_suspended_job_runs_to_completion_once_unsuspended(
    control_plane: ControlPlane, kube: Client, namespace: str
) -> None:
    """A Job waits while suspended, then gets three bound pods that run and succeed."""
    kube.create(job("train", namespace, suspend=True))
    path = kube.path("batch/v1", "Job", namespace, "train")
    control_plane.wait("it is suspended", lambda: has(kube.get(path), "Suspended"))
    assert kube.items(f"/api/v1/namespaces/{namespace}/pods") == []
    kube.merge(path, {"spec": {"suspend": False}})
    control_plane.wait("it is complete", lambda: has(kube.get(path), "Complete"))
    pods = kube.items(f"/api/v1/namespaces/{namespace}/pods")
    assert [p["status"]["phase"] for p in pods] == ["Succeeded"] * 3
    assert all(p["spec"]["nodeName"].startswith("cpu-") for p in pods)


def test_the_server_says_its_version(kube: Client) -> None:
    """The version is the one that clients can parse."""
    assert kube.get("/version")["gitVersion"] == VERSION


def test_errors_carry_the_servers_words(kube: Client, namespace: str) -> None:
    """A refusal of the API server reaches the test as an ApiError with its message."""
    bad = job("bad", namespace, completions=-1)
    with pytest.raises(ApiError, match="must be greater than or equal to 0") as caught:
        kube.create(bad)
    assert caught.value.status == 422


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    """A program started by a process that is killed does not outlive it."""
    code = (
        "import pathlib, sys, time; from tests.controlplane.processes import Child; "
        "c = Child('s', ['/bin/sleep', '60'], pathlib.Path(sys.argv[1])); "
        "print(c.process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    wait(lambda: _program(pid) == "sleep", "the leash is on")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    wait(lambda: not _alive(pid), "the child is gone")


def test_stop_ends_a_program_that_ignores_the_request(tmp_path: Path) -> None:
    """SIGTERM is followed by SIGKILL when nothing happens."""
    child = Child("deaf", ["/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], tmp_path)
    wait(lambda: "deaf" in child.tail(), "it hears no more")
    assert child.stop(0.2) == -signal.SIGKILL


def _program(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z" and os.path.exists(f"/proc/{pid}")
