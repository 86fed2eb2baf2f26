"""A running Kueue's objects, as it left them, taken over without a restart of jobs; and left as Kueue reads them.

The steps are those of docs/how-to/kueue.md. `recorded/kueue.yaml` is what Kueue's own controller wrote.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.sluice import Sluice, managed
from tests.patience import wait
from webhook import documents
from webhook.api.job_to_workload import workload_name

pytestmark = pytest.mark.cluster
JSON = dict[str, Any]
RECORDED = Path(__file__).parent / "recorded" / "kueue.yaml"
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
SPACE = "team"
QUEUE = f"{GROUP}/clusterqueues/cq"
WORKLOADS = f"{GROUP}/namespaces/{SPACE}/workloads"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"


def recorded(kind: str) -> list[JSON]:
    """The recorded objects of a kind."""
    found = (d.value for d in documents.read(RECORDED.read_text(), RECORDED.name))
    return [copy.deepcopy(obj) for obj in found if obj["kind"] == kind]


def jobs(client: Client) -> dict[str, JSON]:
    """The Jobs by name."""
    return {job["metadata"]["name"]: job for job in client.items(JOBS)}


def pods(client: Client) -> dict[str, str]:
    """The uids of the pods, by name."""
    found = client.items(f"/api/v1/namespaces/{SPACE}/pods")
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found if "deletionTimestamp" not in pod["metadata"]
    }


def workloads(client: Client) -> dict[str, JSON]:
    """The Workloads by the names of their Jobs."""
    return {w["metadata"]["ownerReferences"][0]["name"]: w for w in client.items(WORKLOADS)}


def conditions(workload: JSON) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition that Kueue knows."""
    rows = workload["status"]["conditions"]
    return {row["type"]: (row["status"], row["reason"]) for row in rows if "/" not in row["type"]}


def hold(client: Client, policy: str) -> None:
    """Stop the queue, or let it go on."""
    client.merge(QUEUE, {"spec": {"stopPolicy": policy}})


@pytest.fixture
def left(control_plane: ControlPlane, sluice: Sluice) -> Iterator[Client]:
    """The cluster as Kueue leaves it after steps 1 and 2: the queue is held, two Jobs run, no controller is there."""
    client = control_plane.client
    sluice.unregister()
    sluice.stop()
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
    wait(lambda: len(pods(client)) == 2, "two Jobs run")
    try:
        yield client
    finally:
        hold(client, "None")
        if not sluice.ready():
            sluice.start()
            sluice.register()
        for name in jobs(client):
            client.delete(f"{JOBS}/{name}")
        wait(lambda: not client.items(WORKLOADS), "the Workloads are let go")
        for path in (f"{GROUP}/namespaces/{SPACE}/localqueues/main", QUEUE, f"{GROUP}/resourceflavors/f"):
            client.delete(path)


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


def test_a_running_kueue_is_taken_over_and_given_back(left: Client, sluice: Sluice) -> None:
    """Nothing restarts, quota holds, what waited is started when there is room; and Kueue finds what it would write."""
    before, running = jobs(left), pods(left)
    sluice.start()
    sluice.register()
    hold(left, "None")
    wait(lambda: conditions(workloads(left)["three"])["QuotaReserved"] == ("False", "WaitingForQuota"), "three waits")
    for name in ("one", "two", "three"):
        assert jobs(left)[name]["metadata"]["generation"] == before[name]["metadata"]["generation"], (
            "nobody wrote to it"
        )
    assert pods(left) == running
    assert len(left.items(WORKLOADS)) == 3, "no second Workload for a Job"

    left.delete(f"{JOBS}/one")
    wait(lambda: not jobs(left)["three"]["spec"]["suspend"], "three has the place of one")
    wait(lambda: conditions(workloads(left)["three"]).get("Admitted") == ("True", "Admitted"), "its Workload says so")
    two = next(name for name in running if name.startswith("two-"))
    assert pods(left)[two] == running[two]

    hold(left, "Hold")
    sluice.unregister()
    sluice.stop()
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
    assert pods(left)[two] == running[two]
    assert not jobs(left)["two"]["spec"]["suspend"]
