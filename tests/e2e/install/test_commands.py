"""The commands for the day, on a real cluster, with the rights of the chart's roles for people."""

from pathlib import Path

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.article003 import Setting, submit
from tests.e2e.history import History
from tests.e2e.node import NAMESPACE
from tests.e2e.release import Release
from tests.patience import wait

pytestmark = pytest.mark.cluster


def person(release: Release, role: str) -> Path:
    """A kubeconfig with the rights of one of the chart's roles for people."""
    client, name = release.client, f"person-{role}"
    client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}})
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"sluice-{role}"}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    client.apply({**binding, "roleRef": reference, "subjects": [subject]})
    return release.node.kubeconfig(release.node.home / name, name)


def test_a_day_is_led_by_commands(release: Release, plane: ControlPlane) -> None:
    """Stop, resume, evict and requeue a queue and a job of the real cluster, with the rights of the chart's roles."""
    client, setting = release.client, Setting("day", "BestEffortFIFO")
    setting.create(client)
    admin, editor, viewer = (person(release, role) for role in ("admin", "editor", "viewer"))
    wait(lambda: "day" in release.told_by("get", ["queues"], viewer), "the viewer sees the queue")
    assert "forbidden" in release.told_by("stop", ["day", "--yes"], editor)
    assert "is stopped" in release.told_by("stop", ["day", "--yes"], admin)
    history = History(plane, setting.teams)
    try:
        (job, other) = submit(client, [setting], 1, 300, 0)
        client.delete(client.path_of(other))  # it would take the quota of the evicted one
        name, space = job["metadata"]["name"], job["metadata"]["namespace"]
        at = [name, f"--namespace={space}"]
        path = f"/apis/batch/v1/namespaces/{space}/jobs/{name}"

        def suspended() -> bool:
            return bool(client.get(path)["spec"].get("suspend"))

        wait(lambda: name in release.told_by("get", ["workloads", "-A"], viewer), "its Workload is there")
        assert suspended()
        assert "is resumed" in release.told_by("resume", ["day", "--yes"], admin)
        wait(lambda: not suspended(), "the Job starts")
        assert "(dry run)" in release.told_by("evict", [*at, "--dry-run"], editor)
        assert "forbidden" in release.told_by("evict", [*at, "--yes"], viewer)
        assert "is evicted and is held" in release.told_by("evict", [*at, "--yes"], editor)
        wait(suspended, "the Job is stopped")
        assert "is pending again" in release.told_by("requeue", [*at, "--yes"], editor)
        wait(lambda: not suspended(), "it starts again")
        requeued = release.told_by("requeue", [*at, "--yes"], editor)
        assert "is pending again" in requeued, "a running one is stopped first"
        wait(lambda: not suspended(), "and once more")
        assert "day" in release.told_by("top", ["--once"], viewer)
    finally:
        history.close()
        for team in setting.teams:
            client.delete(f"/api/v1/namespaces/{team}")
    assert release.refusals() == []
