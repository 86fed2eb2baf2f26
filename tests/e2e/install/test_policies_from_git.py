"""Policies that a git sidecar brings, as the chart's README sets it up."""

from pathlib import Path

import pytest

from tests.cluster.small_cluster import job
from tests.e2e.install.policies import denied, denying
from tests.e2e.node import NAMESPACE
from tests.e2e.release import Release
from tests.e2e.sluice import managed
from tests.patience import wait

pytestmark = pytest.mark.cluster


def test_when_an_install_ends_its_policies_are_in_force(release: Release) -> None:
    """Those of the sidecar too: the next Job is suspended when it is created, and what they deny is denied."""
    release.uninstall()
    release.client.apply(managed("at-once"))
    release.install()
    made = release.client.create(job("first", namespace="at-once", suspend=False), dry_run=True)
    assert made["spec"]["suspend"]
    assert denied(release, "Service", "at-once")


def test_policies_of_a_git_repository_are_called(release: Release, repository: Path) -> None:
    """With the README's sidecar, the first commit is in force; a later one for another kind of object is called too."""
    client = release.client
    client.apply(managed("in-git"))
    wait(lambda: denied(release, "Service"), "the first commit is in force")
    assert not denied(release, "ConfigMap")
    (repository / "policies" / "configmaps.yaml").write_text(denying("configmaps"))
    wait(lambda: denied(release, "ConfigMap"), "the second commit is in force")
    for namespace in ("kube-system", NAMESPACE):
        client.merge(f"/api/v1/namespaces/{namespace}", managed(namespace))
        assert not denied(release, "ConfigMap", namespace)
    for pod in release.node.pods.values():
        wait(lambda pod=pod: "sluice_registration_differs 0.0" in pod.told("/metrics"), "every replica agrees")
        wait(lambda pod=pod: "[+]registration ok\n" in pod.told("/readyz?verbose"), "and says so")
    (repository / "policies" / "configmaps.yaml").unlink()
    wait(lambda: not denied(release, "ConfigMap"), "the commit is taken back")
    assert release.refusals() == []
