"""`why`, `plan --live`, `top` and `get` for the people of the chart: with the rights that its roles give, no others."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.article003 import Setting
from tests.e2e.rights import token
from tests.e2e.sluice import ROOT, SYSTEM, Sluice

pytestmark = pytest.mark.cluster
JSON = dict[str, Any]
ROLES = ("viewer", "editor", "admin")
QUEUES = Setting("people", "BestEffortFIFO")
TEAM_A, TEAM_B = QUEUES.teams
RUNS, WAITS = "sample-job-a", "sample-job-b"


@pytest.fixture(scope="module")
def jobs(kube_session: Client, sluice: Sluice) -> Iterator[Client]:
    """A Job that runs for long, and one that waits for it."""
    client = kube_session
    QUEUES.create(client)
    made = []
    for team, name in enumerate((RUNS, WAITS)):
        job = QUEUES.job(team, 3600)
        job["metadata"] = {**job["metadata"], "name": name}
        job["metadata"].pop("generateName", None)
        made.append(client.create(job))
        conditions = (("Admitted", "True"), ("sluice.dev/Waiting", "True"))[team]
        sluice.plane.wait(f"{name}: {conditions}", lambda team=team, row=conditions: row in told(client, team))
    yield client
    for job in made:
        client.delete(client.path_of(job))


def told(client: Client, team: int) -> set[tuple[str, str]]:
    """Type and status of the conditions of a team's Workloads."""
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{QUEUES.teams[team]}/workloads"
    rows = [row for item in client.get(path)["items"] for row in item.get("status", {}).get("conditions", ())]
    return {(row["type"], row["status"]) for row in rows}


def kubeconfig(plane: ControlPlane, sluice: Sluice, role: str, folder: Path, *, namespace: str = "") -> Path:
    """A kubeconfig of somebody who has a role of the chart: everywhere, or in one namespace."""
    name = f"people-{role}{'-' + namespace if namespace else ''}"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": SYSTEM}}
    kind, where = ("RoleBinding", {"namespace": namespace}) if namespace else ("ClusterRoleBinding", {})
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, **where},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"sluice-{role}"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}],
    }
    for obj in (account, binding):
        plane.client.apply(obj)
    file = folder / f"{name}.kubeconfig"
    plane.write_kubeconfig(file, token(plane.client, name, SYSTEM))
    return file


def ask(file: Path, *words: str, cwd: Path) -> tuple[int, str, str]:
    """What a command says to somebody, outside of any policy repository."""
    command = [sys.executable, "-P", "-m", "webhook.cli.main", *words, "--kubeconfig", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("role", ROLES)
def test_why_and_plan_and_top(
    jobs: Client, control_plane: ControlPlane, sluice: Sluice, tmp_path: Path, role: str
) -> None:
    """Each says who holds what the job waits for, by the rules in force, and names once what could not be read."""
    file = kubeconfig(control_plane, sluice, role, tmp_path)
    code, out, err = ask(file, "why", WAITS, "-n", TEAM_B, cwd=tmp_path)
    assert code == 0, err
    assert out.startswith(f"Job {TEAM_B}/{WAITS}: pending in LocalQueue localqueue-")
    assert "sluice.dev/Waiting=True  WaitingForQuota: requests 6 cpu of flavor people, 3 free" in out
    assert "position 1 of 1 in ClusterQueue people" in out
    assert f"must end first: Job {TEAM_A}/{RUNS} holds 3 cpu" in out
    assert "decided by: rule kueue, capacity.available" in out
    assert [line for line in err.splitlines() if "rules in force" in line] == []
    assert err.count("you may not list Namespace") == 1
    assert err.count("\n") == 1
    assert ask(file, "why", RUNS, "-n", TEAM_A, cwd=tmp_path)[1].startswith(f"Job {TEAM_A}/{RUNS}: Admitted")
    code, out, err = ask(file, "plan", "--live", "-o", "json", cwd=tmp_path)
    assert code == 0, err
    rows = [row for row in json.loads(out)["pending"] if row["clusterQueue"] == "people"]
    assert [(row["position"], row["reason"]) for row in rows] == [(1, "WaitingForQuota")]
    assert "Job" in err.split("decided without them")[0]
    code, out, err = ask(file, "top", "--once", cwd=tmp_path)
    assert (code, "people" in out, WAITS in out) == (0, True, True), err
    assert "Active" in ask(file, "get", "queues", "people", cwd=tmp_path)[1]


def test_a_role_in_one_namespace(jobs: Client, control_plane: ControlPlane, sluice: Sluice, tmp_path: Path) -> None:
    """Whoever may read one namespace is told what the Workload says, and that the queues cannot be read."""
    file = kubeconfig(control_plane, sluice, "viewer", tmp_path, namespace=TEAM_B)
    code, out, err = ask(file, "why", WAITS, "-n", TEAM_B, cwd=tmp_path)
    assert code == 0, err
    assert "sluice.dev/Waiting=True  WaitingForQuota: requests 6 cpu of flavor people, 3 free" in out
    assert "position" not in out
    assert err.startswith(
        "note: you may not list Workload, ClusterQueue, LocalQueue, ResourceFlavor, Cohort: only what"
    )
