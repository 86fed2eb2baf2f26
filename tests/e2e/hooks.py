"""A small HTTPS server for AdmissionReviews inside a test process: a path gives a function from review to answer.

Used to watch what the API server sends, and to run the engine without the server around it. Not Sluice's server.
"""

import base64
import json
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from webhook.tls.authority import issue, new_authority

JSON = dict[str, Any]
Answer = Callable[[JSON], JSON]
"""From an AdmissionReview's `request` to the fields of its `response`."""


class Hooks:
    """A running server; a context manager. `routes` may be changed at any time."""

    def __init__(self, folder: Path) -> None:
        """Listen on a free loopback port; the certificate's files go to `folder`."""
        self.routes: dict[str, Answer] = {}
        now = datetime.now(UTC)
        authority = new_authority(now)
        leaf = issue(authority, ("127.0.0.1",), now)
        (folder / "hook.crt").write_bytes(leaf.certificate)
        (folder / "hook.key").write_bytes(leaf.key)
        self.authority = authority.certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "hook.crt", folder / "hook.key")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def client_config(self, path: str) -> JSON:
        """The `clientConfig` by which an API server on this machine reaches `path`."""
        url = f"https://127.0.0.1:{self._server.server_port}{path}"
        return {"url": url, "caBundle": base64.b64encode(self.authority).decode()}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        routes = self.routes

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one write an answer: two would wait for each other's acknowledgement

            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = {"uid": review["request"]["uid"], **routes[self.path.split("?")[0]](review["request"])}
                body = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": answer}
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Say nothing."""

        return Handler


def configuration(kind: str, name: str, client: JSON, rules: list[JSON], selector: JSON) -> JSON:
    """A Mutating- or ValidatingWebhookConfiguration (`kind`) with one webhook for namespaces that `selector` takes."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.tests.sluice.dev",
                "clientConfig": client,
                "rules": rules,
                "namespaceSelector": selector,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 10,
            }
        ],
    }
