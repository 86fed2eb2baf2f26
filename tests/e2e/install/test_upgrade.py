"""An upgrade of the chart: nobody is disturbed, what is registered stays, and objects are stored anew."""

import threading

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e import previous
from tests.e2e.article003 import Setting, submit
from tests.e2e.history import History
from tests.e2e.install.policies import denied
from tests.e2e.install.reviews import Reviews
from tests.e2e.release import CHART, Release
from tests.e2e.sluice import managed
from tests.patience import wait

pytestmark = pytest.mark.cluster


def test_an_upgrade_disturbs_nobody(
    release: Release, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From the release of the previous commit to this one, replicas of both side by side: no review fails, and Jobs
    are started once and complete."""
    client, setting, node = release.client, Setting("upgraded", "BestEffortFIFO"), release.node
    older = previous.previous(tmp_path_factory.mktemp("previous"))
    node.programs["sluice:previous"], node.roots["sluice:previous"] = previous.command(older), older
    release.chart = older / "charts" / "sluice"
    release.install("--set=image.tag=previous")
    assert {pod.image for pod in node.pods.values()} == {"sluice:previous"}
    release.chart = CHART
    setting.create(client)
    history = History(plane, setting.teams)
    try:
        submit(client, [setting], 2, 30, 0)
        plane.wait("a Job runs", lambda: any(life.starts for life in history.lives.values()))
        with Reviews(client, "reviewed") as reviews:
            release.install()
        plane.wait("all Jobs are complete", lambda: history.finished(*setting.teams) == 4)
    finally:
        history.close()
    assert "sluice:previous" not in {pod.image for pod in node.pods.values()}
    assert reviews.failed == []
    assert reviews.made > 20
    assert {len(life.starts) for life in history.of(*setting.teams)} == {1}
    assert history.peaks["jobs"]["upgraded"] <= 6
    assert release.refusals() == []


def test_an_upgrade_keeps_what_is_registered(release: Release) -> None:
    """The Job that registers knows no policies; at no moment of an upgrade is a denied object let through."""
    release.client.apply(managed("asked"))
    wait(lambda: denied(release, "Service", "asked"), "a Service is denied")
    over, let_through = threading.Event(), []

    def ask() -> None:
        while not over.is_set():
            let_through.extend([True] * (not denied(release, "Service", "asked")))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        release.install("--set=podAnnotations.changed=for-policies")
    finally:
        over.set()
        asking.join()
    assert let_through == []


def test_an_upgrade_stores_objects_in_the_current_version(release: Release) -> None:
    """A CRD of an older Sluice stored v1beta1: after an upgrade all is stored in v1beta2, and the CRD says so."""
    client = release.client
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/resourceflavors.kueue.x-k8s.io"
    versions = client.get(path)["spec"]["versions"]
    for version in versions:
        version["storage"] = version["name"] == "v1beta1"
    client.merge(path, {"spec": {"versions": versions}})
    client.apply({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "older"}})
    release.install("--set=podAnnotations.changed=again")
    found = client.get(path)
    assert found["status"]["storedVersions"] == ["v1beta2"]
    assert [v["name"] for v in found["spec"]["versions"] if v["storage"]] == ["v1beta2"]
    config = found["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config["caBundle"] == release.secret()["data"]["ca.crt"]
    assert config["service"]["port"] == 18443
    assert client.get("/apis/kueue.x-k8s.io/v1beta1/resourceflavors/older")["metadata"]["name"] == "older"
