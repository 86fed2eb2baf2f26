"""An API server of a few lines for Helm's `lookup`: it has the objects that a test gives it, and is only read."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.controlplane.build import VERSION
from webhook.documents import dump

KINDS = {"deployments": "Deployment", "statefulsets": "StatefulSet"}


def _answers(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What is answered, by path."""
    version = {"groupVersion": "apps/v1", "version": "v1"}
    resources = [
        {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ["get"]}
        for name, kind in KINDS.items()
    ]
    answers = {
        "/version": {"major": "1", "minor": VERSION.split(".")[1], "gitVersion": f"v{VERSION.removeprefix('v')}"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
        "/apis": {"kind": "APIGroupList", "groups": [
            {"name": "apps", "versions": [version], "preferredVersion": version}]},
        "/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": resources},
    }  # fmt: skip
    plurals = {kind: name for name, kind in KINDS.items()}
    for obj in objects:
        metadata = obj["metadata"]
        place = f"/apis/apps/v1/namespaces/{metadata['namespace']}/{plurals[obj['kind']]}/{metadata['name']}"
        answers[place] = obj
    return answers


@contextmanager
def cluster_of(folder: Path, *objects: dict[str, Any]) -> Iterator[list[str]]:
    """Serve the objects; gives the arguments by which `helm template` looks there."""
    answers = _answers(list(objects))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path.partition("?")[0])
            missing = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
            body = json.dumps({"apiVersion": "v1", **(found or missing)}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    named = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "c"}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [named], "contexts": [context]}
    (folder / "kubeconfig").write_text(dump({**config, "users": [{"name": "c", "user": {}}]}))
    try:
        yield ["--dry-run=server", f"--kubeconfig={folder / 'kubeconfig'}"]
    finally:
        server.shutdown()
        server.server_close()
