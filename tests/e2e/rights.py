"""What the chart lets Sluice do: its ServiceAccounts and roles as rendered, and tokens of those accounts."""

import re
from collections.abc import Iterator
from typing import Any

from tests.chart.helm import template
from tests.controlplane.client import Client
from tests.shared import ROOT
from webhook.documents import read

JSON = dict[str, Any]
SYSTEM = "sluice-system"
KINDS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
TOKEN_REQUEST = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "spec": {"expirationSeconds": 24 * 3600},
}
"""For longer than any test, since nobody writes a new token into its kubeconfig, as a kubelet would."""

REFUSED = re.compile(
    r'(?:"(?P<name>[^"]*)" )?is forbidden: User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource'
    r' "(?P<resource>[^"/]*)/?(?P<subresource>[^"]*)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)
"""How the API server says that an account lacks a right."""


def rendered() -> Iterator[JSON]:
    """What the chart renders of accounts and roles, and the namespace that they are in, before them."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}
    for document in read(template(ROOT / "charts" / "sluice"), "chart"):
        obj: JSON | None = document.value
        if obj and obj["kind"] in KINDS:
            if not obj["kind"].startswith("Cluster"):
                obj["metadata"]["namespace"] = SYSTEM
            yield obj


def grant(client: Client) -> None:
    """Create what `rendered` gives."""
    for obj in rendered():
        client.apply(obj)


def token(client: Client, account: str, namespace: str = SYSTEM) -> str:
    """A token of a ServiceAccount."""
    return str(client.call("POST", token_path(account, namespace), TOKEN_REQUEST)["status"]["token"])


def token_path(account: str, namespace: str = SYSTEM) -> str:
    """Where a token of a ServiceAccount is asked for."""
    return f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"


def lacks(client: Client, refusal: str) -> bool:
    """Whether what the API server refused in these words is refused still.

    A server that has just started may not have read all roles and bindings: it refuses what they allow.
    """
    found = REFUSED.search(refusal)
    if found is None:
        return True
    attributes = {key: value for key, value in found.groupdict(default="").items() if key != "user"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": found["user"], "resourceAttributes": attributes},
    }
    answer = client.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return not answer["status"]["allowed"]
