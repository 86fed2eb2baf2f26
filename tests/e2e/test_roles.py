"""Each role of the chart may do what it says and no more: the API server is asked about every verb on every resource.

The table is all there is: what it does not name is refused.
"""

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chart.helm import template
from tests.controlplane.client import Client
from tests.patience import wait
from tests.shared import ROOT
from webhook.documents import read

pytestmark = pytest.mark.cluster
JSON = dict[str, Any]
CHART = ROOT / "charts" / "sluice"
OURS = "sluice-system"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "escalate", "bind")
READ, FOLLOW, JOB = "get list watch", "list watch", "get list watch update"
QUEUES = ("clusterqueues", "localqueues", "resourceflavors", "cohorts", "workloadpriorityclasses", "admissionchecks")
CONFIGS = ("topologies", "provisioningrequestconfigs")
KUEUE = tuple(f"{name}.kueue.x-k8s.io" for name in (*QUEUES, *CONFIGS))
HOOKS = tuple(f"{name}webhookconfigurations.admissionregistration.k8s.io" for name in ("mutating", "validating"))
CRD = "customresourcedefinitions.apiextensions.k8s.io"
AROUND = ("namespaces", "limitranges", "resourcequotas", "configmaps", "priorityclasses.scheduling.k8s.io",
          "runtimeclasses.node.k8s.io")  # fmt: skip
JOBS = ("jobs.batch", "jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org", "mpijobs.kubeflow.org", "rayjobs.ray.io",
        "trainjobs.trainer.kubeflow.org", "appwrappers.workload.codeflare.dev")  # fmt: skip
NEVER = ("pods/exec", "pods/log", "pods/attach", "pods/eviction", "pods/binding", "nodes", "nodes/proxy", "services",
         "serviceaccounts", "serviceaccounts/token", "persistentvolumes", "deployments.apps", "daemonsets.apps",
         "cronjobs.batch", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
         "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
         "certificatesigningrequests.certificates.k8s.io", "validatingadmissionpolicies.admissionregistration.k8s.io",
         "apiservices.apiregistration.k8s.io", "tokenreviews.authentication.k8s.io")  # fmt: skip
"""What nobody may touch; the table has no row for them."""

CLASSES = "workloadpriorityclasses.kueue.x-k8s.io"
"""The policy `priority-class` takes its class from them, whoever runs the queues."""
FACTS = {**dict.fromkeys(AROUND, FOLLOW), "namespaces": READ, "subjectaccessreviews.authorization.k8s.io": "create"}
VIEW = {**dict.fromkeys(KUEUE, READ), "workloads.kueue.x-k8s.io": READ}
WRITE_ALL = "get list watch create update patch delete deletecollection"
LET_GO = dict.fromkeys(("clusterqueues.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io",
                        "admissionchecks.kueue.x-k8s.io"), f"{FOLLOW} patch")  # fmt: skip
STATUS = dict.fromkeys(
    [f"{name}/status.kueue.x-k8s.io"
     for name in ("workloads", "clusterqueues", "localqueues", "cohorts", "admissionchecks")],
    "patch",
)  # fmt: skip
RIGHTS: dict[str, JSON] = {
    "embedded": FACTS
    | dict.fromkeys(JOBS, JOB)
    | STATUS
    | dict.fromkeys(
        [f"{name}.trainer.kubeflow.org" for name in ("clustertrainingruntimes", "trainingruntimes")], FOLLOW
    )
    | {
        **dict.fromkeys([f"{name}.kueue.x-k8s.io" for name in (*QUEUES, "provisioningrequestconfigs")], FOLLOW),
        "topologies.kueue.x-k8s.io": f"{FOLLOW} patch",
        **LET_GO,
        "pods": f"{JOB} delete patch",
        "pods/status": "patch",
        "pods/finalizers": "update",
        "jobs/status.batch": "patch",
        "jobs/finalizers.batch": "update",
        "events": "create patch",
        "podtemplates": "create update patch",
        "provisioningrequests.autoscaling.x-k8s.io": f"{FOLLOW} create delete",
        "workloads.kueue.x-k8s.io": f"{READ} create update patch delete",
    },
    "external": FACTS
    | dict.fromkeys((*JOBS, "pods", "workloads.kueue.x-k8s.io"), READ)
    | dict.fromkeys(("localqueues.kueue.x-k8s.io", CLASSES), FOLLOW),
    "comparing": FACTS
    | dict.fromkeys((*JOBS, "pods", "workloads.kueue.x-k8s.io"), READ)
    | dict.fromkeys([f"{name}.kueue.x-k8s.io" for name in QUEUES], FOLLOW),
    "none": FACTS
    | dict.fromkeys((*JOBS, "pods"), READ)
    | dict.fromkeys(("localqueues.kueue.x-k8s.io", CLASSES), FOLLOW),
    "registration": dict(zip(HOOKS, ("create", "create get"), strict=True)),
    "crds": {CRD: "create", HOOKS[1]: "get", **dict.fromkeys((*KUEUE, "workloads.kueue.x-k8s.io"), "list update")},
    "viewer": VIEW,
    "editor": VIEW | dict.fromkeys(("workloads.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"), f"{READ} patch update"),
    "admin": dict.fromkeys(VIEW, WRITE_ALL),
}
"""By role, what may be done in every namespace: with objects of any name."""
NAMED: dict[str, list[tuple[str, str, str, str]]] = {
    "embedded": [
        ("leases.coordination.k8s.io", "sluice", OURS, "get create update"),
        ("leases.coordination.k8s.io", "other", OURS, "create"),
        ("secrets", "sluice-tls", OURS, "get create update patch"),
        ("secrets", "other", OURS, "create"),
        ("secrets", "sluice-tls", "default", ""),
        ("serviceaccounts", "sluice", OURS, "get"),
        ("serviceaccounts", "other", OURS, ""),
        (HOOKS[0], "sluice", "", "get update"),
        (HOOKS[0], "other", "", ""),
        (CRD, "workloads.kueue.x-k8s.io", "", "get patch"),
        (CRD, "others.example.com", "", ""),
    ],
    "registration": [
        (HOOKS[0], "sluice", "", "get create patch delete"),
        (HOOKS[1], "other", "", "get create"),
        (CRD, "workloads.kueue.x-k8s.io", "", "get patch"),
        (CRD, "others.example.com", "", ""),
        ("secrets", "sluice-tls", OURS, ""),
    ],
    "crds": [
        (CRD, "workloads.kueue.x-k8s.io", "", "get create patch"),
        (CRD, "others.example.com", "", "create"),
        ("leases.coordination.k8s.io", "sluice", OURS, ""),
    ],
    "viewer": [
        ("secrets", "sluice-tls", OURS, ""),
        ("leases.coordination.k8s.io", "sluice", OURS, "get"),
        ("leases.coordination.k8s.io", "other", OURS, ""),
    ],
    "editor": [("leases.coordination.k8s.io", "sluice", OURS, "get")],
    "admin": [("secrets", "sluice-tls", OURS, ""), ("leases.coordination.k8s.io", "sluice", OURS, "get")],
}
"""By role: resource, name, namespace, and the verbs allowed there, create included where it has no name."""
VALUES = {
    "embedded": ["--set=mode=embedded"],
    "external": ["--set=mode=external"],
    "comparing": ["--set=mode=external", "--set=journal.enabled=true"],
    "none": ["--set=mode=none"],
}
OF_RELEASE = ("registration", "crds")
OF_PEOPLE = ("viewer", "editor", "admin")
KINDS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


@pytest.fixture(scope="module")
def installed(kube_session: Client) -> Iterator[Client]:
    """The chart's rights in each mode, under names of their own, so that they stand beside those of other tests."""
    client, made = kube_session, []
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OURS}})
    for mode, values in VALUES.items():
        for document in read(template(CHART, *values), "chart"):
            if document.value and document.value["kind"] in KINDS:
                obj = client.apply(_renamed(document.value, mode))
                made.append(client.path_of(obj))
    for role in OF_PEOPLE:
        client.apply(_bound(role, f"rights-embedded-sluice-{role}"))
        made.append(f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/rights-{role}")
    yield client
    for path in made:
        client.delete(path)


def _renamed(rendered: JSON, mode: str) -> JSON:
    obj = copy.deepcopy(rendered)
    obj["metadata"]["name"] = f"rights-{mode}-{obj['metadata']['name']}"
    obj["metadata"]["labels"] = {}
    if obj["kind"] in ("Role", "RoleBinding"):
        obj["metadata"].setdefault("namespace", OURS)
    if "roleRef" in obj and obj["roleRef"]["name"].startswith("sluice"):
        obj["roleRef"]["name"] = f"rights-{mode}-{obj['roleRef']['name']}"
    for subject in obj.get("subjects", ()):
        subject["name"] = f"{mode}-{subject['name']}"
    return obj


def _bound(role: str, name: str) -> JSON:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"rights-{role}"}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"rights-{role}"},
        "roleRef": reference,
        "subjects": [subject],
    }


def _user(role: str) -> str:
    if role in OF_PEOPLE or role.startswith("batch-"):
        return f"rights-{role}"
    account = f"embedded-sluice-{role}" if role in OF_RELEASE else f"{role}-sluice"
    return f"system:serviceaccount:{OURS}:{account}"


def _may(client: Client, role: str, resource: str, verb: str, name: str = "", namespace: str = "default") -> bool:
    full, _, group = resource.partition(".")
    plural, _, subresource = full.partition("/")
    asked = {"group": group, "resource": plural, "subresource": subresource, "verb": verb}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": _user(role), "resourceAttributes": {**asked, "name": name, "namespace": namespace}},
    }
    return bool(client.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"])


def _verbs(client: Client, role: str, resource: str, name: str = "", namespace: str = "default") -> set[str]:
    return {verb for verb in VERBS if _may(client, role, resource, verb, name, namespace)}


@pytest.mark.parametrize("role", RIGHTS)
def test_a_role_may_do_what_it_says_and_no_more(installed: Client, role: str) -> None:
    """Of every resource that any role names, and of those that none may touch: exactly the verbs of the table."""
    resources = sorted({*NEVER, "secrets", "leases.coordination.k8s.io", *(r for row in RIGHTS.values() for r in row)})
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(resources, pool.map(lambda r: _verbs(installed, role, r), resources), strict=True))
    assert {r: verbs for r, verbs in found.items() if verbs} == {r: set(v.split()) for r, v in RIGHTS[role].items()}


@pytest.mark.parametrize("role", NAMED)
def test_what_has_a_name_is_that_alone(installed: Client, role: str) -> None:
    """Its lease, its Secret, its webhooks and its CRDs, in its own namespace."""
    for resource, name, namespace, verbs in NAMED[role]:
        found = _verbs(installed, role, resource, name, namespace)
        assert found == set(verbs.split()), (resource, name, namespace)


WRITE_JOBS = "get list watch create update patch delete"
OF_KUEUE = {
    "user": {"jobs.batch": WRITE_JOBS, "workloads.kueue.x-k8s.io": READ, "localqueues.kueue.x-k8s.io": READ,
             "clusterqueues.kueue.x-k8s.io": "", "pods": "", "jobs.example.org": READ},
    "admin": {"jobs.batch": WRITE_JOBS, "secrets": "", **{f"{name}.kueue.x-k8s.io": WRITE_JOBS for name in (
        "workloads", "localqueues", "clusterqueues", "cohorts", "resourceflavors", "topologies")}},
}  # fmt: skip


def test_bindings_of_a_kueue_go_on_working(kube_session: Client) -> None:
    """Under the names that Kueue gives them, two roles with its rights, of which others' roles may be part as there."""
    client, made = kube_session, []
    for document in read(template(CHART, "--set=roles.kueuePrefix=kueue"), "chart"):
        obj = document.value
        if obj and obj["kind"] == "ClusterRole" and "-batch-" in obj["metadata"]["name"]:
            made.append(client.path_of(client.apply(obj)))
    rule = {"apiGroups": ["example.org"], "resources": ["jobs"], "verbs": READ.split()}
    label = {"rbac.kueue.x-k8s.io/batch-user": "true"}
    group = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    made.append(
        client.path_of(client.apply({**group, "metadata": {"name": "of-others", "labels": label}, "rules": [rule]}))
    )
    bindings = (_bound(f"batch-{who}", f"kueue-batch-{who}-role") for who in OF_KUEUE)
    made.extend(client.path_of(client.apply(binding)) for binding in bindings)
    try:
        for who, rights in OF_KUEUE.items():
            for resource, verbs in rights.items():

                def given(who: str = who, resource: str = resource, verbs: str = verbs) -> bool:
                    return _verbs(client, f"batch-{who}", resource) == set(verbs.split())

                wait(given, f"a batch {who} may {verbs or 'nothing'} with {resource}")
    finally:
        for path in made:
            client.delete(path)
