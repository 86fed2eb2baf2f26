"""The library's Pod Security policies decide on the Pods of their suites as the API server's own admission does."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.shared import ROOT

pytestmark = pytest.mark.cluster

LEVELS = ("baseline", "restricted")


def pods(level: str) -> list[tuple[str, dict[str, Any], bool]]:
    """The Pods of a level's suite: name of the case, the Pod, and whether the suite expects it to be let in."""
    suite = Path(ROOT, "policies/library", f"pod-security-{level}", "suite.yaml").read_text(encoding="utf-8")
    cases = (c for c in yaml.safe_load(suite)["cases"] if c["object"]["kind"] == "Pod" and "oldObject" not in c)
    return [(c["name"], c["object"], c.get("expect", {}).get("allowed", True)) for c in cases]


@pytest.mark.parametrize("level", LEVELS)
def test_the_api_server_decides_alike(control_plane: ControlPlane, kube: Client, level: str) -> None:
    """What the suite says of a Pod, the API server says in a namespace that enforces the standard."""
    name = f"pod-security-{level}"
    labels = {"pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/enforce-version": "latest"}
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    control_plane.wait("the namespace has an account", lambda: kube.request("GET", account).status == 200)
    differences = []
    for case, pod, expected in pods(level):
        answer = kube.request("POST", f"/api/v1/namespaces/{name}/pods?dryRun=All", pod)
        said = str(answer.body.get("message", ""))
        if (answer.status < 300) != expected or not (expected or "violates PodSecurity" in said):
            differences.append(f"{case}: {answer.status} {said}")
    assert not differences, "\n".join(differences)
