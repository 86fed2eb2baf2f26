"""What an uninstall does to running jobs, what it leaves, and how that is deleted."""

from pathlib import Path

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.docs.markdown import blocks
from tests.e2e.article003 import Setting, submit
from tests.e2e.history import History
from tests.e2e.install.guide import section, shell_of
from tests.e2e.node import NAMESPACE
from tests.e2e.release import Release
from tests.patience import wait

pytestmark = pytest.mark.cluster
STAYS = {
    "customresourcedefinitions": {f"{name}.kueue.x-k8s.io" for name in (
        "admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters", "multikueueconfigs",
        "provisioningrequestconfigs", "resourceflavors", "topologies", "workloadpriorityclasses", "workloads")},
    "namespaces": {NAMESPACE},
    "persistentvolumeclaims": {"journal-sluice-0", "journal-sluice-1"},
}  # fmt: skip
"""What an uninstall leaves on purpose, as docs/install.md lists it."""
MADE_BY_OTHERS = ("kube-root-ca.crt", "default", "person-")
"""Beginnings of what Kubernetes and these tests make in the namespace."""


def left_behind(client: Client) -> dict[str, set[str]]:
    """What is in the release's namespace, and what in the cluster is called after the release or is ours."""
    found: dict[str, set[str]] = {}
    for group in (
        "/api/v1",
        *(f"/apis/{g['preferredVersion']['groupVersion']}" for g in client.get("/apis")["groups"]),
    ):
        for resource in client.get(group)["resources"]:
            if "/" in resource["name"] or "list" not in resource["verbs"] or resource["kind"] == "Event":
                continue
            middle = f"/namespaces/{NAMESPACE}" if resource["namespaced"] else ""
            for obj in client.items(f"{group}{middle}/{resource['name']}"):
                name, labels = obj["metadata"]["name"], obj["metadata"].get("labels") or {}
                ours = resource["namespaced"] or name.startswith("sluice") or "sluice" in labels.values()
                if ours and not name.startswith(MADE_BY_OTHERS):
                    found.setdefault(resource["name"], set()).add(name)
    return found


def test_an_uninstall_leaves_running_jobs_alone(journalled: Release, plane: ControlPlane) -> None:
    """A running Job completes without Sluice, no request is denied for want of it, and no right or key is left."""
    release, client, setting = journalled, journalled.client, Setting("left", "BestEffortFIFO")
    setting.create(client)
    history = History(plane, setting.teams)
    try:
        submit(client, [setting], 1, 20, 0)
        plane.wait("a Job runs", lambda: any(life.starts for life in history.lives.values()))
        running = [life for life in history.lives.values() if life.starts]
        release.uninstall()
        plane.wait("it is complete", lambda: all(life.complete for life in running))
        job = setting.job(0, 1)
        client.create(job, dry_run=True)
    finally:
        history.close()
    assert {len(life.starts) for life in running} == {1}
    wait(lambda: left_behind(client) == STAYS, "only what is meant to stay is left")


def test_what_an_uninstall_leaves_can_be_deleted(release: Release, tmp_path: Path) -> None:
    """By the commands of docs/install.md: a Pod that waits, and the CRDs with objects that nobody uses any more."""
    client, shell, setting = release.client, shell_of(release, tmp_path), Setting("unused", "BestEffortFIFO")
    setting.create(client)
    queue, held = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/unused", ["kueue.x-k8s.io/resource-in-use"]
    wait(lambda: client.get(queue)["metadata"].get("finalizers") == held, "the queue is held")
    release.uninstall()
    mark = {"labels": {"kueue.x-k8s.io/managed": "true"}, "finalizers": ["kueue.x-k8s.io/managed"]}
    spec = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "containers": [{"name": "c", "image": "i"}]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "held", "namespace": setting.teams[0], **mark},
        "spec": spec,
    }
    client.create(pod)
    for block in blocks(section("Uninstall", tmp_path)):
        if block.text.startswith("kubectl delete"):  # what a running Sluice would release
            printed = [shell.run(f"{line} --dry-run=server") for line in block.text.splitlines()]
            assert (shell.code, "unused" in "".join(printed)) == (0, True), printed
        elif block.text.startswith("kubectl get"):
            printed = [shell.run(block.text)]
            assert (shell.code, "patched" in printed[0]) == (0, True), printed
    assert "finalizers" not in client.get(client.path_of(pod))["metadata"]
    shell.run("kubectl delete crd -l app.kubernetes.io/part-of=sluice")
    assert shell.code == 0
    assert not [crd for crd in client.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
                if crd["spec"]["group"] == "kueue.x-k8s.io"]  # fmt: skip
