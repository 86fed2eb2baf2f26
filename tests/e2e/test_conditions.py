"""The conditions that are registered, asked by the real API server: they never refuse what nobody objects to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.metrics import samples
from tests.e2e.hooks import Hooks
from tests.e2e.sluice import POLICIES, Sluice, managed
from webhook.cluster.webhooks.configurations import Options, WebhookEndpoint, configurations
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.policy import load_bundle
from webhook.policy.webhook_rules import EXPRESSION_LIMIT, registration

pytestmark = pytest.mark.cluster

JSON = dict[str, Any]
NAMESPACE = "conditions"
CHOSEN = ("suspend-jobs", "suspend-pods", "queue-name", "frozen-while-admitted")
"""Policies of which those that judge speak of `oldObject`: with the gate, every Pod of a managed namespace is asked."""
QUEUED = {"labels": {"kueue.x-k8s.io/queue-name": "main"}}


@pytest.fixture(scope="module")
def seen(control_plane: ControlPlane, foreign: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What is sent to the webhooks of some of the shipped policies: `operation resource/name`."""
    sent: list[str] = []

    def note(request: JSON) -> JSON:
        sent.append(f"{request['operation']} {request['resource']['resource']}/{request['name']}")
        return {"allowed": True}

    client, folder = control_plane.client, tmp_path_factory.mktemp("conditions")
    client.apply(managed(NAMESPACE, part="conditions"))
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    control_plane.wait("the namespace has an account", lambda: client.request("GET", account).status == 200)
    with Hooks(folder) as server:
        server.routes["/mutate"] = lambda _: {"allowed": True}
        server.routes["/validate"] = note
        made = registered(server)
        for obj in made:
            client.create(obj)
        probe = pod("probe", **QUEUED)
        control_plane.wait("the webhooks are in force", lambda: create(client, probe) and "CREATE pods/probe" in sent)
        sent.clear()
        yield sent
        for obj in made:
            client.delete(client.path_of(obj))


def registered(server: Hooks) -> list[JSON]:
    policies = load_bundle(Path(POLICIES, name) for name in CHOSEN).policies
    target = WebhookEndpoint(server.authority, server.client_config("")["url"])
    options = Options(name="conditions", labels={"part": "conditions"})
    return configurations(hooks(registration(policies), gate=True), target, options)


def pod(name: str, **metadata: Any) -> JSON:
    spec = {"containers": [{"name": "main", "image": "example/main:1"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "spec": spec,
    }


def job(name: str) -> JSON:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/main:1"}]}}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "template": template},
    }


def create(client: Client, obj: JSON) -> bool:
    return client.request("POST", client.path_of(obj, collection=True) + "?dryRun=All", obj).status == 201


def gone(plane: ControlPlane, path: str) -> None:
    """Delete an object, and wait until nothing is left of it for the tests behind these."""
    plane.client.delete(f"{path}?gracePeriodSeconds=0")
    plane.wait(f"{path} is gone", lambda: plane.client.request("GET", path).status == 404)


def test_an_ordinary_pod_is_created_changed_and_deleted(
    kube: Client, control_plane: ControlPlane, seen: list[str]
) -> None:
    """A Pod that names no queue is let in without being sent, and so is what is done with it afterwards."""
    plain = pod("plain")
    kube.create(plain)
    path = kube.path_of(plain)
    kube.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
    kube.call("PATCH", f"{path}/status", {"status": {"message": "x"}}, "application/merge-patch+json")
    gone(control_plane, path)
    assert seen == []


def test_what_a_queue_holds_is_sent(kube: Client, control_plane: ControlPlane, seen: list[str]) -> None:
    """Jobs, and Pods that name a queue, are sent for the gate when they are made or changed, not when they go."""
    for obj in (job("work"), pod("queued", **QUEUED)):
        kube.create(obj)
        path = kube.path_of(obj)
        kube.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
        gone(control_plane, path)
    assert set(seen) == {"CREATE jobs/work", "UPDATE jobs/work", "CREATE pods/queued", "UPDATE pods/queued"}


@pytest.mark.parametrize(("manager", "sent"), [("kubectl", 1), ("sluice", 0)])
def test_sluice_is_not_asked_about_its_own_workloads(kube: Client, sluice: Sluice, manager: str, sent: int) -> None:
    """With all shipped policies: who may admit a Workload and says that he is Sluice is let through."""
    kube.apply(managed("own-writes"))
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/main:1"}]}}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": manager, "namespace": "own-writes"},
        "spec": {"queueName": "none", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }
    before = judged(sluice)
    path = kube.path_of(workload, collection=True)
    answer = kube.request("POST", f"{path}?dryRun=All&fieldManager={manager}", workload)
    assert answer.status == 201, answer.body
    assert judged(sluice) - before == sent


def judged(sluice: Sluice) -> float:
    """How many requests about Workloads Sluice has judged."""
    found = samples(sluice.state("/metrics"), "sluice_admission_requests_total")
    return sum(each.value for each in found if each.labels["resource"] == "workloads")


@pytest.mark.parametrize(("length", "status"), [(EXPRESSION_LIMIT, 201), (EXPRESSION_LIMIT + 1, 422)])
def test_the_longest_condition_is_what_the_server_reads(kube: Client, length: int, status: int) -> None:
    """One code point more, and the API server refuses the webhook: such a condition is never registered."""
    webhook = {
        "name": "long.sluice.dev",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "matchConditions": [{"name": "long", "expression": f"'{'x' * (length - 8)}' != ''"}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    answer = kube.request("POST", f"{path}?dryRun=All", {"metadata": {"name": "long"}, "webhooks": [webhook]})
    assert answer.status == status, answer.body
