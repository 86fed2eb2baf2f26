"""Plain Pods through the real API server, scheduler and kubelets: held by a gate, let go in turn, whoever is killed."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.sluice import Sluice, managed

pytestmark = pytest.mark.cluster

JSON = dict[str, Any]
NAMESPACE = "plain"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/workloads"
KUEUE = "kueue.x-k8s.io/v1beta2"


@pytest.fixture
def queue(kube: Client, sluice: Sluice) -> Iterator[str]:
    """A queue with quota for one CPU, whose flavor is one node."""
    resources = [{"name": "cpu", "nominalQuota": "1"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAMESPACE, "resources": resources}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group], "preemption": {"withinClusterQueue": "LowerPriority"}}
    made: list[JSON] = [
        managed(NAMESPACE),
        {
            "kind": "ResourceFlavor",
            "metadata": {"name": NAMESPACE},
            "spec": {"nodeLabels": {"kubernetes.io/hostname": "cpu-2"}},
        },
        {"kind": "ClusterQueue", "metadata": {"name": NAMESPACE}, "spec": spec},
        {
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": NAMESPACE},
            "spec": {"clusterQueue": NAMESPACE},
        },
        {"kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 100},
    ]
    for obj in made:
        kube.apply({"apiVersion": KUEUE, **obj})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    sluice.plane.wait("the namespace has an account", lambda: kube.request("GET", account).status == 200)
    yield "main"
    for pod in kube.items(PODS):
        kube.delete(f"{PODS}/{pod['metadata']['name']}")
    sluice.plane.wait("the Workloads are gone with their Pods", lambda: not kube.items(WORKLOADS))


def create(kube: Client, name: str, **labels: str) -> JSON:
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": "1"}}}
    meta = {"name": name, "namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/queue-name": "main", **labels}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def runs(kube: Client, name: str) -> bool:
    return bool(kube.get(f"{PODS}/{name}")["status"].get("phase") == "Running")


def gated(kube: Client, name: str) -> bool:
    return any(
        g["name"] == "kueue.x-k8s.io/admission" for g in kube.get(f"{PODS}/{name}")["spec"].get("schedulingGates", [])
    )


def end(kube: Client, name: str) -> None:
    body = {"status": {"phase": "Succeeded"}}
    kube.call("PATCH", f"{PODS}/{name}/status", body, "application/merge-patch+json")


def workload_of(kube: Client, name: str) -> JSON:
    return next((w for w in kube.items(WORKLOADS) if w["metadata"]["ownerReferences"][0]["name"] == name), {})


def condition(obj: JSON, type_: str) -> JSON:
    return next((c for c in obj.get("status", {}).get("conditions", []) if c["type"] == type_), {})


def test_the_second_pod_waits_for_the_first_and_a_killed_sluice_loses_nothing(
    control_plane: ControlPlane, kube: Client, sluice: Sluice, queue: str
) -> None:
    """Quota for one: the first runs on its flavor's node, the second after it; SIGKILL in between changes nothing."""
    wait = control_plane.wait
    first = create(kube, "first")
    assert first["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/admission"}]
    wait("the first Pod runs", lambda: runs(kube, "first"))
    assert kube.get(f"{PODS}/first")["spec"]["nodeName"] == "cpu-2"
    create(kube, "second")
    wait("the second waits", lambda: condition(workload_of(kube, "second"), "QuotaReserved").get("status") == "False")
    sluice.kill()
    try:
        end(kube, "first")
    finally:
        sluice.start()
    wait("the second Pod runs", lambda: runs(kube, "second"))
    assert condition(workload_of(kube, "first"), "Finished")["reason"] == "Succeeded"
    create(kube, "third")
    wait("the third waits", lambda: condition(workload_of(kube, "third"), "QuotaReserved").get("status") == "False")
    assert gated(kube, "third")
    sluice.kill()
    sluice.start()
    assert runs(kube, "second"), "what runs is not ended by a restart"
    kube.delete(f"{PODS}/second")
    wait("the third Pod runs", lambda: runs(kube, "third"))


def test_a_preempted_pod_is_deleted_and_says_why(
    control_plane: ControlPlane, kube: Client, sluice: Sluice, queue: str
) -> None:
    """An urgent Pod takes the place: the other gets a condition with the reason, and is deleted."""
    create(kube, "low")
    control_plane.wait("the first Pod runs", lambda: runs(kube, "low"))
    body = {"metadata": {"finalizers": ["tests.sluice.dev/watch"]}}
    kube.call("PATCH", f"{PODS}/low", body, "application/merge-patch+json")
    create(kube, "urgent", **{"kueue.x-k8s.io/priority-class": "urgent"})
    low = control_plane.wait(
        "the first is being deleted",
        lambda: (p := kube.get(f"{PODS}/low"))["metadata"].get("deletionTimestamp") and p,
    )
    kube.call("PATCH", f"{PODS}/low", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    assert condition(low, "TerminationTarget")["reason"] == "WorkloadEvictedDueToPreempted"
    control_plane.wait("the urgent Pod runs", lambda: runs(kube, "urgent"))


def test_only_the_queue_takes_the_gate_off(
    control_plane: ControlPlane, kube: Client, sluice: Sluice, queue: str
) -> None:
    """A user who may change Pods, but not the status of Workloads, is refused; so is whoever takes the mark away."""
    create(kube, "one")
    control_plane.wait("the first Pod runs", lambda: runs(kube, "one"))
    create(kube, "two")
    role = {"kind": "Role", "metadata": {"name": "pods", "namespace": NAMESPACE}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "update", "patch"]}]
    rbac = "rbac.authorization.k8s.io"
    kube.apply({"apiVersion": f"{rbac}/v1", **role, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}
    reference = {"apiGroup": rbac, "kind": "Role", "name": "pods"}
    binding = {"kind": "RoleBinding", "metadata": role["metadata"], "roleRef": reference, "subjects": [subject]}
    kube.apply({"apiVersion": f"{rbac}/v1", **binding})
    user = sluice.account(NAMESPACE, "default")
    try:
        path, media = f"{PODS}/two", "application/merge-patch+json"
        control_plane.wait("the rights are there", lambda: user.request("GET", path).status == 200)
        forced = user.request("PATCH", path, {"spec": {"schedulingGates": []}}, media)
        assert (forced.status, "only queue main removes the scheduling gate" in forced.body["message"]) == (403, True)
        unmarked = user.request("PATCH", path, {"metadata": {"labels": {"kueue.x-k8s.io/managed": None}}}, media)
        assert unmarked.status == 403
        renamed = user.request("PATCH", path, {"metadata": {"labels": {"app": "x"}}}, media)
        assert renamed.status == 200
    finally:
        user.close()
    assert gated(kube, "two")


def member(kube: Client, name: str, total: int) -> JSON:
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": "500m"}}}
    labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/pod-group-name": "pair"}
    total_count = {"kueue.x-k8s.io/pod-group-total-count": str(total)}
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": total_count}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def test_a_group_of_pods_runs_together(control_plane: ControlPlane, kube: Client, sluice: Sluice, queue: str) -> None:
    """The first waits for the second; both run, and the one Workload of the group ends with them."""
    wait = control_plane.wait
    member(kube, "one", 2)
    create(kube, "alone")
    wait("a Pod of no group runs", lambda: runs(kube, "alone"))
    assert gated(kube, "one")
    end(kube, "alone")
    member(kube, "two", 2)
    wait("the first Pod runs", lambda: runs(kube, "one"))
    wait("the second Pod runs", lambda: runs(kube, "two"))
    end(kube, "one")
    end(kube, "two")
    pair = f"{WORKLOADS}/pair"
    wait("the Workload has ended", lambda: condition(kube.get(pair), "Finished").get("status") == "True")
    assert len(kube.get(pair)["metadata"]["ownerReferences"]) == 2


def test_an_elastic_job_grows_without_a_stop(
    control_plane: ControlPlane, kube: Client, sluice: Sluice, queue: str
) -> None:
    """Its second pod waits behind its gate until the larger Workload is admitted; the first pod runs on."""
    wait = control_plane.wait
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": "500m"}}}
    meta = {
        "name": "elastic",
        "namespace": NAMESPACE,
        "labels": {"kueue.x-k8s.io/queue-name": "main"},
        "annotations": {"kueue.x-k8s.io/elastic-job": "true"},
    }
    runs_on = {"annotations": {"sluice.dev/run-seconds": "3600"}}  # no pod ends by itself
    template = {"metadata": runs_on, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": 1, "completions": 5, "template": template}
    job = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/elastic"
    kube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})

    def running() -> list[str]:
        return [p["metadata"]["name"] for p in kube.items(PODS) if p["status"].get("phase") == "Running"]

    wait("one pod runs", lambda: len(running()) == 1)
    (first,) = running()
    kube.call("PATCH", job, {"spec": {"parallelism": 2}}, "application/merge-patch+json")
    wait("two pods run", lambda: len(running()) == 2)
    assert first in running()
    reasons = {condition(w, "Finished").get("reason") for w in kube.items(WORKLOADS)}
    assert reasons == {None, "WorkloadSliceReplaced"}
    kube.delete(f"{job}?propagationPolicy=Background")
    wait("its Workloads are gone", lambda: not kube.items(WORKLOADS))


def test_a_stateful_set_is_admitted_as_one_and_waits_on_hold(
    control_plane: ControlPlane, kube: Client, sluice: Sluice, queue: str
) -> None:
    """Its pods wait for another's quota, run together, and its Workload gives the quota back while it has none.

    Its queue is label and annotation: a label that is removed alone is written again, and both cannot be removed.
    """
    wait, sets = control_plane.wait, f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": "500m"}}}
    meta = {"name": "db", "namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "serviceName": "db", "podManagementPolicy": "Parallel", "template": template}
    create(kube, "alone")
    wait("a Pod runs", lambda: runs(kube, "alone"))
    selector = {"matchLabels": {"app": "db"}}
    kube.create(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": {**spec, "selector": selector}}
    )

    def there(name: str) -> bool:
        return any(pod["metadata"]["name"] == name for pod in kube.items(PODS))

    wait("both pods are there", lambda: there("db-0") and there("db-1"))
    assert gated(kube, "db-0")
    assert gated(kube, "db-1")
    end(kube, "alone")
    wait("both run", lambda: runs(kube, "db-0") and runs(kube, "db-1"))
    merge = "application/merge-patch+json"
    kube.call("PATCH", f"{sets}/db", {"spec": {"replicas": 0}}, merge)
    wait(
        "its Workload is on hold",
        lambda: condition(workload_of(kube, "db"), "QuotaReserved").get("reason") == "OnHold",
    )
    create(kube, "next")
    wait("another Pod runs in its place", lambda: runs(kube, "next"))
    removed: JSON = {"labels": {"kueue.x-k8s.io/queue-name": None}}
    kept = kube.call("PATCH", f"{sets}/db", {"metadata": removed}, merge)
    assert kept["metadata"]["labels"] == meta["labels"]
    removed["annotations"] = removed["labels"]
    refused = kube.request("PATCH", f"{sets}/db", {"metadata": removed}, merge)
    assert (refused.status, "the label cannot be removed" in refused.body["message"]) == (403, True)
    kube.call("DELETE", f"{sets}/db")
