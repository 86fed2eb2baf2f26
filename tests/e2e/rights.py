"""What the chart lets Sluice do: its ServiceAccounts and roles as rendered, and tokens of those accounts."""

from tests.chart.helm import template
from tests.controlplane.client import Client
from tests.shared import ROOT
from webhook.documents import read

SYSTEM = "sluice-system"
KINDS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
TOKEN_SECONDS = 24 * 3600
"""Longer than any test, since nobody writes a new token into its kubeconfig, as a kubelet would."""


def grant(client: Client) -> None:
    """Create what the chart renders of accounts and roles, and the namespace that they are in."""
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    for document in read(template(ROOT / "charts" / "sluice"), "chart"):
        obj = document.value
        if obj and obj["kind"] in KINDS:
            if not obj["kind"].startswith("Cluster"):
                obj["metadata"]["namespace"] = SYSTEM
            client.apply(obj)


def token(client: Client, account: str, namespace: str = SYSTEM) -> str:
    """A token of a ServiceAccount."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    spec = {"expirationSeconds": TOKEN_SECONDS}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return str(client.call("POST", path, request)["status"]["token"])
