"""What people may do with the roles of the chart, and what its own accounts may do."""

import pytest

from tests.e2e.node import NAMESPACE
from tests.e2e.release import Release
from tests.patience import wait

pytestmark = pytest.mark.cluster
VERBS = ("get", "list", "create", "patch", "delete")
MAY = {
    ("viewer", "workloads"): "get list",
    ("viewer", "clusterqueues"): "get list",
    ("viewer", "localqueues"): "get list",
    ("editor", "workloads"): "get list patch",
    ("editor", "clusterqueues"): "get list",
    ("editor", "localqueues"): "get list patch",
    ("admin", "workloads"): "get list create patch delete",
    ("admin", "clusterqueues"): "get list create patch delete",
    ("admin", "localqueues"): "get list create patch delete",
    ("admin", "secrets"): "",
    ("editor", "jobs"): "",
}


@pytest.mark.parametrize(("role", "resource"), MAY)
def test_people_may_do_what_their_role_says(release: Release, role: str, resource: str) -> None:
    """As `kubectl auth can-i` for a user that is bound to the role, and to nothing else."""
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"sluice-{role}"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"some-{role}"}
    release.client.apply({**binding, "metadata": {"name": f"some-{role}"}, "roleRef": reference, "subjects": [subject]})
    group = {"secrets": "", "jobs": "batch"}.get(resource, "kueue.x-k8s.io")

    def allowed(verb: str) -> bool:
        asked = {"group": group, "resource": resource, "verb": verb, "namespace": "default"}
        return release.may(f"some-{role}", [], asked)

    wait(lambda: " ".join(filter(allowed, VERBS)) == MAY[role, resource], f"{role} may {MAY[role, resource]}")


OWN = [
    ("sluice", "", "secrets", "get", "sluice-tls", True),
    ("sluice", "", "secrets", "get", "another", False),
    ("sluice", "", "secrets", "list", "", False),
    ("sluice", "batch", "jobs", "update", "j", True),
    ("sluice", "batch", "jobs", "delete", "j", False),
    ("sluice", "", "nodes", "list", "", False),
    ("sluice", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update", "sluice", True),
    ("sluice", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update", "another", False),
    ("sluice", "apiextensions.k8s.io", "customresourcedefinitions", "patch", "workloads.kueue.x-k8s.io", True),
    ("sluice", "apiextensions.k8s.io", "customresourcedefinitions", "patch", "others.example.com", False),
    ("sluice-registration", "", "secrets", "get", "sluice-tls", False),
    ("sluice-crds", "kueue.x-k8s.io", "workloads", "update", "w", False),
]


@pytest.mark.parametrize(("account", "group", "resource", "verb", "name", "wanted"), OWN)
def test_the_accounts_have_the_rights_they_need(
    release: Release, account: str, group: str, resource: str, verb: str, name: str, wanted: bool
) -> None:
    """Of the chart's ServiceAccounts, what is told in its README: one Secret, its own registration, its own CRDs."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
    asked = {"group": group, "resource": resource, "verb": verb, "name": name, "namespace": NAMESPACE}
    assert release.may(user, groups, asked) is wanted
