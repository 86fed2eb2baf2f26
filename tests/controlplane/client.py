"""A small synchronous client of the Kubernetes API for tests: standard library only, one connection a thread.

It is not Sluice's own client (that is `webhook.cluster`), so a test never checks the product with itself.
"""

import http.client
import json
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.patience import PATIENCE

JSON = dict[str, Any]
CONFLICT, TOO_MANY, NO_TIME = 409, 429, 504
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Response:
    """What the API server said: status code, JSON body, and its `Warning` headers' texts."""

    status: int
    body: JSON
    warnings: tuple[str, ...] = ()


class ApiError(Exception):
    """A status of 400 or more."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"{response.status} {response.body.get('reason', '')}: {response.body.get('message', '')}")
        self.response = response
        self.status = response.status
        self.message: str = response.body.get("message", "")


class Client:
    """Requests against one API server with one token."""

    def __init__(self, url: str, ca: str, token: str) -> None:
        """`url` as https://host:port, `ca` a PEM file."""
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = str(parts.hostname), int(parts.port or 443)
        self.token = token
        self._tls = ssl.create_default_context(cafile=ca)
        self._local = threading.local()
        self._open: list[http.client.HTTPSConnection] = []
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def connection(self, timeout: float = PATIENCE) -> http.client.HTTPSConnection:
        """A new connection; the caller closes it."""
        return http.client.HTTPSConnection(self.host, self.port, context=self._tls, timeout=timeout)

    def request(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Response:
        """Send one request and give the answer, whatever its status."""
        data = None if body is None else json.dumps(body).encode()
        raw, status, warnings = self.exchange(method, path, data, {"Content-Type": media})
        return Response(status, json.loads(raw) if raw[:1] == b"{" else {"message": raw.decode()}, warnings)

    def exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[bytes, int, tuple[str, ...]]:
        """Send bytes over this thread's kept connection; a connection closed by the server is opened again."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **headers}
        for last in (False, True):
            kept = getattr(self._local, "connection", None)
            self._local.connection = connection = kept or self._keep(self.connection())
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                return answer.read(), answer.status, _warnings(answer)
            except (http.client.HTTPException, OSError):
                connection.close()
                self._local.connection = None
                if last or kept is None:
                    raise
        raise AssertionError("unreachable")

    def call(self, method: str, path: str, body: Any = None, media: str = "application/json") -> JSON:
        """Send a request until the server has time for it, and give its body; raises ApiError.

        A read that is told to come again does. A request that was not done within the server's minute may have been
        done after it: a create that finds its object there has made it.
        """
        response, late = self.request(method, path, body, media), False
        while response.status == NO_TIME or (method == "GET" and response.status == TOO_MANY):
            late |= response.status == NO_TIME
            time.sleep(0.1)
            response = self.request(method, path, body, media)
        if late and method == "POST" and response.status == CONFLICT:
            return self.get(self.path_of(body))
        if response.status >= 400:
            raise ApiError(response)
        return response.body

    def _keep(self, connection: http.client.HTTPSConnection) -> http.client.HTTPSConnection:
        self._open.append(connection)
        return connection

    def close(self) -> None:
        """Close the connections of all threads; a later request opens a new one."""
        while self._open:
            self._open.pop().close()

    def path(self, api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str:
        """The URL path of a kind or an object, by the server's discovery; raises KeyError for an unknown kind."""
        if (api_version, kind) not in self._kinds:
            self._discover()
        plural, namespaced = self._kinds[api_version, kind]
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        middle = f"/namespaces/{namespace or 'default'}" if namespaced and (namespace or name) else ""
        return f"{root}{middle}/{plural}" + (f"/{name}" if name else "")

    def path_of(self, obj: JSON, *, collection: bool = False) -> str:
        """The path of an object, or of the collection that it is created in."""
        meta = obj["metadata"]
        self.path(obj["apiVersion"], obj["kind"])
        namespaced = self._kinds[obj["apiVersion"], obj["kind"]][1]
        namespace = meta.get("namespace", "default") if namespaced else None
        return self.path(obj["apiVersion"], obj["kind"], namespace, None if collection else meta["name"])

    def _discover(self) -> None:
        for root in ("/api", "/apis"):
            raw, _, _ = self.exchange("GET", root, None, {"Accept": _DISCOVERY})
            for group in json.loads(raw)["items"]:
                prefix = group["metadata"].get("name", "")
                for version in group["versions"]:
                    name = f"{prefix}/{version['version']}" if prefix else version["version"]
                    for resource in version.get("resources", []):
                        row = resource["resource"], resource["scope"] == "Namespaced"
                        self._kinds[name, resource["responseKind"]["kind"]] = row

    def create(self, obj: JSON, *, dry_run: bool = False) -> JSON:
        """Create an object and give it as stored; raises ApiError."""
        return self.call("POST", self.path_of(obj, collection=True) + ("?dryRun=All" if dry_run else ""), obj)

    def apply(self, obj: JSON, manager: str = "tests") -> JSON:
        """Server-side apply, taking over conflicting fields; raises ApiError."""
        return self.call("PATCH", f"{self.path_of(obj)}?fieldManager={manager}&force=true", obj, _APPLY)

    def merge(self, path: str, patch: JSON) -> JSON:
        """A JSON merge patch of the object at `path`; raises ApiError."""
        return self.call("PATCH", path, patch, _MERGE)

    def get(self, path: str) -> JSON:
        """The object or list at `path`; raises ApiError."""
        return self.call("GET", path)

    def items(self, path: str) -> list[JSON]:
        """The items of the list at `path`; raises ApiError."""
        return list(self.get(path)["items"])

    def delete(self, path: str, *, missing_ok: bool = True) -> None:
        """Delete what is at `path`, dependants in the background; raises ApiError."""
        try:
            self.call("DELETE", path, {"propagationPolicy": "Background"})
        except ApiError as error:
            if not (missing_ok and error.status == 404):
                raise

    def watch(self, path: str, since: str, seconds: int = 60) -> Iterator[JSON]:
        """The events of the list at `path` after resourceVersion `since`, as they come, for at most `seconds`.

        Raises ApiError.
        """
        query = urllib.parse.urlencode({"watch": "1", "resourceVersion": since, "timeoutSeconds": seconds})
        connection = self.connection(timeout=seconds + PATIENCE)
        try:
            connection.request("GET", f"{path}?{query}", headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiError(Response(answer.status, json.loads(answer.read()), ()))
            for line in answer:
                yield json.loads(line)
        finally:
            connection.close()


def _warnings(answer: http.client.HTTPResponse) -> tuple[str, ...]:
    texts = (value.split(" ", 2)[2] for value in answer.headers.get_all("Warning", []))
    return tuple(json.loads(text) if text.startswith('"') else text for text in texts)
