"""A running Kueue's objects, as it left them, taken over without a restart of jobs; and left as Kueue reads them.

The steps are those of docs/how-to/kueue.md, on CRDs as Kueue's, which convert at a Service that is gone: they stay so,
or `sluice crds --take-over` makes them Sluice's. `recorded/kueue.yaml` is what Kueue's own controller wrote.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import with_nodes
from tests.e2e.crds import install
from tests.e2e.kueue_crds import crds_of_kueue
from tests.e2e.sluice import Sluice, managed
from tests.patience import wait
from webhook import documents
from webhook.api.job_to_workload import workload_name
from webhook.store.objects import merge

pytestmark = pytest.mark.cluster
JSON = dict[str, Any]
RECORDED = Path(__file__).parent / "recorded" / "kueue.yaml"
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
SPACE = "team"
QUEUE = f"{GROUP}/clusterqueues/cq"
WORKLOADS = f"{GROUP}/namespaces/{SPACE}/workloads"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod]}
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}
"""
PODS = f"/api/v1/namespaces/{SPACE}/pods"
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": SPACE, "labels": {"kueue.x-k8s.io/queue-name": "main"}},
    "spec": {"restartPolicy": "Never", "containers": [CONTAINER]},
}
HELD = {
    "metadata": {"labels": {"kueue.x-k8s.io/managed": "true"}, "finalizers": ["kueue.x-k8s.io/managed"]},
    "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
}
"""What Kueue's webhook for Pods adds to one that waits."""


def recorded(kind: str) -> list[JSON]:
    """The recorded objects of a kind."""
    found = (d.value for d in documents.read(RECORDED.read_text(), RECORDED.name))
    return [copy.deepcopy(obj) for obj in found if obj["kind"] == kind]


def jobs(client: Client) -> dict[str, JSON]:
    """The Jobs by name."""
    return {job["metadata"]["name"]: job for job in client.items(JOBS)}


def running(client: Client) -> dict[str, str]:
    """The uids of the pods that run, by name."""
    found = [pod for pod in client.items(PODS) if pod["status"].get("phase") == "Running"]
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found}


def workloads(client: Client) -> dict[str, JSON]:
    """The Workloads by the names of their Jobs."""
    return {w["metadata"]["ownerReferences"][0]["name"]: w for w in client.items(WORKLOADS)}


def conditions(workload: JSON) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition that Kueue knows."""
    rows = workload.get("status", {}).get("conditions", [])
    return {row["type"]: (row["status"], row["reason"]) for row in rows if "/" not in row["type"]}


def waits(client: Client, name: str) -> bool:
    """Whether a Workload has no quota, for want of it."""
    found = workloads(client).get(name)
    return found is not None and conditions(found).get("QuotaReserved") == ("False", "WaitingForQuota")


def enlarge(client: Client, cpu: str) -> None:
    """Give the queue this many CPUs."""
    groups = client.get(QUEUE)["spec"]["resourceGroups"]
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = cpu
    client.merge(QUEUE, {"spec": {"resourceGroups": groups}})


def give_back(plane: ControlPlane) -> None:
    """Nobody converts by Sluice any more; then Kueue's release applies its own CRDs."""
    for crd in crds_of_kueue():
        plane.client.merge(plane.client.path_of(crd), {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    install(plane, *crds_of_kueue())


def hold(client: Client, policy: str) -> None:
    """Stop the queue, or let it go on."""
    client.merge(QUEUE, {"spec": {"stopPolicy": policy}})


@pytest.fixture
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane of its own: its CRDs are Kueue's."""
    with with_nodes(request.session) as made:
        install(made, *crds_of_kueue())
        yield made


@pytest.fixture
def sluice(plane: ControlPlane, tmp_path: Path) -> Iterator[Sluice]:
    """Sluice with the rights of the chart, and fair sharing as that Kueue had it; it does not run yet."""
    configuration = tmp_path / "configuration.yaml"
    configuration.write_text(CONFIGURATION)
    made = Sluice(plane, tmp_path, flags=[f"--kueue-config={configuration}"])
    made.prepare()
    made.restrict()
    yield made
    made.stop()
    assert made.refusals() == [], "the chart lacks a right"


@pytest.fixture
def left(plane: ControlPlane) -> Client:
    """The cluster as Kueue leaves it after steps 1 and 2: the queue is held, two Jobs run, a Job and a Pod wait."""
    client = plane.client
    client.apply(managed(SPACE))
    for kind in ("ResourceFlavor", "ClusterQueue", "LocalQueue"):
        for obj in recorded(kind):
            client.create(obj)
    hold(client, "Hold")
    uids = {}
    for obj in recorded("Job"):
        obj["metadata"].pop("uid")
        uids[obj["metadata"]["name"]] = client.create(obj)["metadata"]["uid"]
    for obj in recorded("Workload"):
        _create(client, obj, uids)
    account = f"/api/v1/namespaces/{SPACE}/serviceaccounts/default"
    wait(lambda: client.request("GET", account).status == 200, "the namespace has an account")
    client.create(merge(POD, merge(HELD, {"metadata": {"name": "four"}})))
    wait(lambda: len(running(client)) == 2, "two Jobs run")
    return client


def _create(client: Client, workload: JSON, uids: dict[str, str]) -> None:
    """Create a recorded Workload for the Job of this cluster, whose uid is another one."""
    reference = workload["metadata"]["ownerReferences"][0]
    reference["uid"] = uid = uids[reference["name"]]
    workload["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] = uid
    workload["metadata"]["name"] = workload_name("Job", "batch", reference["name"], uid)
    made = client.create(workload)
    client.merge(f"{client.path_of(made)}/status", {"status": workload["status"]})


def test_workloads_have_the_names_that_kueue_gives_them() -> None:
    """So that neither makes a second one for a Job of the other."""
    uids = {job["metadata"]["name"]: job["metadata"]["uid"] for job in recorded("Job")}
    for workload in recorded("Workload"):
        job = workload["metadata"]["ownerReferences"][0]["name"]
        assert workload["metadata"]["name"] == workload_name("Job", "batch", job, uids[job])


@pytest.mark.parametrize("crds", ["stay", "are taken over"])
def test_a_running_kueue_is_taken_over_and_given_back(left: Client, sluice: Sluice, crds: str) -> None:
    """Nothing restarts, quota holds, what waited is started when there is room; and Kueue finds what it would write."""
    before, runs = jobs(left), running(left)
    if crds == "are taken over":
        sluice.crds("--take-over")
    sluice.start()
    sluice.register()
    hold(left, "None")
    for name in ("three", "four"):
        wait(lambda name=name: waits(left, name), f"{name} waits")
    for name in ("one", "two", "three"):
        assert jobs(left)[name]["metadata"]["generation"] == before[name]["metadata"]["generation"], name
    assert running(left) == runs
    assert len(left.items(WORKLOADS)) == 4, "no second Workload for a Job"

    left.delete(f"{JOBS}/one")
    wait(lambda: not jobs(left)["three"]["spec"]["suspend"], "three has the place of one")
    wait(lambda: conditions(workloads(left)["three"]).get("Admitted") == ("True", "Admitted"), "its Workload says so")
    two = next(name for name in runs if name.startswith("two-"))
    assert running(left)[two] == runs[two]
    enlarge(left, "3")
    wait(lambda: "four" in running(left), "there is room for the Pod that Kueue held")
    left.create(merge(POD, {"metadata": {"name": "five"}}))
    wait(lambda: waits(left, "five"), "five waits")
    wait(lambda: left.get(QUEUE)["status"].get("fairSharing") == {"weightedShare": 0}, "Kueue's CRD takes the status")

    hold(left, "Hold")
    sluice.unregister()
    sluice.stop()
    give_back(sluice.plane)
    found = workloads(left)
    theirs = {w["metadata"]["ownerReferences"][0]["name"]: w for w in recorded("Workload")}
    of_kueue = conditions(theirs["two"])
    for name in ("two", "three"):
        mine = conditions(found[name])
        assert {type_: mine[type_] for type_ in ("QuotaReserved", "Admitted")} == {
            type_: of_kueue[type_] for type_ in ("QuotaReserved", "Admitted")
        }
        assert found[name]["status"]["admission"] == theirs["two"]["status"]["admission"]
        assert found[name]["metadata"]["finalizers"] == theirs["two"]["metadata"]["finalizers"]
    assert found["two"]["spec"] == theirs["two"]["spec"], "what Kueue wrote is as it was"
    assert running(left)[two] == runs[two]
    assert not jobs(left)["two"]["spec"]["suspend"]
    held = left.get(f"{PODS}/five")
    assert merge(held, HELD) == held, "it waits as a Pod that Kueue holds"
    assert found["five"]["metadata"]["name"] == workload_name("Pod", "", "five", held["metadata"]["uid"])
