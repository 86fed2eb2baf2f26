"""`python -m tests.load.account --kubeconfig FILE OUT`: a kubeconfig with the chart's rights on an API server.

The runner hands its administrator's kubeconfig to whom it starts; Sluice is to run with what the chart gives it.
"""

import argparse
import json
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tests.e2e import rights
from tests.load.api_server import opener

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{rights.SYSTEM}/serviceaccounts",
    "Role": f"{RBAC}/namespaces/{rights.SYSTEM}/roles",
    "RoleBinding": f"{RBAC}/namespaces/{rights.SYSTEM}/rolebindings",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
}


def token(kubeconfig: Path) -> str:
    """Create the accounts and roles of the chart; give a token of Sluice's."""
    server, ask = opener(kubeconfig)

    def post(path: str, body: object) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{server}{path}", json.dumps(body).encode(), headers, method="POST")
        with ask.open(request, timeout=60) as answer:
            return json.loads(answer.read())

    for obj in rights.rendered():
        post(PLACES[obj["kind"]], obj)
    return str(post(rights.token_path("sluice"), rights.TOKEN_REQUEST)["status"]["token"])


def main() -> None:
    """Write the kubeconfig."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.account", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    config: dict[str, Any] = yaml.safe_load(given.kubeconfig.read_text())
    (user,) = config["users"]
    user["user"] = {"token": token(given.kubeconfig)}
    given.out.write_text(yaml.safe_dump(config))
    given.out.chmod(0o600)


if __name__ == "__main__":
    main()
