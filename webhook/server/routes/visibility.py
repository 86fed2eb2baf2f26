"""The aggregated API `visibility.kueue.x-k8s.io`: discovery, and what waits in a queue. Asked by the API server only.

The API server proxies requests of users here (an APIService). It shows the certificate of its front proxy, and names
the user in headers; whether that user may read the queue is asked of the API server again (SubjectAccessReview).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import unquote

import orjson
from aiohttp import web

from webhook.policy.facts import Check
from webhook.server.clients import ClientCheck
from webhook.server.limits import VISIBILITY, Limits
from webhook.server.metrics import ServerMetrics
from webhook.server.responses import StatusError, status_response

log = logging.getLogger(__name__)

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
LIMIT: Final = 1000
MOST: Final = 100_000
_HIGHEST: Final = 2**31
"""Of a limit or an offset: more is taken as this, which is beyond any queue."""
_EXTRA: Final = "x-remote-extra-"
_PATH: Final = re.compile(
    rf"/apis/{re.escape(GROUP)}/(?P<version>v1beta[12])"
    r"/(?:clusterqueues|namespaces/(?P<namespace>[^/]+)/localqueues)/(?P<name>[^/]+)/pendingworkloads"
)
Authorize = Callable[[Check], Awaitable[bool]]


class Queues(Protocol):
    """Gives what waits, None where there is no such queue."""

    def of_cluster_queue(self, name: str, limit: int, offset: int) -> list[dict[str, Any]] | None:
        """Return what waits in a ClusterQueue."""

    def of_local_queue(self, namespace: str, name: str, limit: int, offset: int) -> list[dict[str, Any]] | None:
        """Return what waits in a LocalQueue."""


@dataclass(frozen=True, slots=True)
class VisibilityApp:
    """The application of this port; calling it never raises."""

    queues: Queues
    authorize: Authorize
    check_client: ClientCheck
    metrics: ServerMetrics
    limits: Limits = VISIBILITY

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        try:
            self.check_client(request)
            if request.method not in ("GET", "HEAD"):
                return status_response(405, "Method Not Allowed", Allow="GET, HEAD")
            return await self._answer(request)
        except StatusError as error:
            return self.refuse(error)
        except Exception:
            log.exception("%s failed: this is a bug in Sluice", request.rel_url.raw_path)
            return self.refuse(StatusError("internal error: see Sluice's log", 500, "internal"))

    def refuse(self, error: StatusError) -> web.Response:
        """Count the failure, and return the error response."""
        self.metrics.failures[error.kind] += 1
        return status_response(error.status, str(error))

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        path = request.rel_url.raw_path.rstrip("/")
        if (document := _DISCOVERY.get(path)) is not None:
            return _json(document)
        found = _PATH.fullmatch(path)
        if found is None:
            return status_response(404, "Not Found")
        parts = {key: unquote(value) for key, value in found.groupdict().items() if value is not None}
        check = check_of(request, parts)
        if not await self.authorize(check):
            where = f' in the namespace "{check.namespace}"' if check.namespace else ""
            told = f'{check.resource}.{GROUP} "{check.name}" is forbidden: User "{check.user}" cannot get resource'
            raise StatusError(
                f'{told} "{check.resource}/{check.subresource}" in API group "{GROUP}"{where}', 403, "unauthorized"
            )
        limit, offset = _number(request, "limit", LIMIT), _number(request, "offset", 0)
        limit = min(limit, MOST)
        if check.resource == "localqueues":
            items = self.queues.of_local_queue(check.namespace, check.name, limit, offset)
        else:
            items = self.queues.of_cluster_queue(check.name, limit, offset)
        if items is None:
            return status_response(404, f'{check.resource}.{GROUP} "{check.name}" not found')
        version = f"{GROUP}/{parts['version']}"
        return _json({"kind": "PendingWorkloadsSummary", "apiVersion": version, "metadata": {}, "items": items})


def check_of(request: web.BaseRequest, parts: dict[str, str]) -> Check:
    """Return the question to the authorizer: may the user that the front proxy names read this queue?

    Raises StatusError where nobody is named.
    """
    user = request.headers.get("X-Remote-User", "")
    if not user:
        raise StatusError("the front proxy names no user", 401, "unauthorized")
    extra: dict[str, list[str]] = {}
    for key, value in request.headers.items():
        if key.lower().startswith(_EXTRA):
            extra.setdefault(unquote(key[len(_EXTRA) :]).lower(), []).append(value)
    return Check(
        user=user,
        groups=tuple(request.headers.getall("X-Remote-Group", ())),
        extra=tuple((key, tuple(values)) for key, values in sorted(extra.items())),
        verb="get",
        group=GROUP,
        version=parts["version"],
        resource="localqueues" if "namespace" in parts else "clusterqueues",
        subresource="pendingworkloads",
        namespace=parts.get("namespace", ""),
        name=parts["name"],
    )


def _number(request: web.BaseRequest, name: str, default: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    try:
        return min(max(0, int(text)), _HIGHEST)
    except ValueError:
        raise StatusError(f"{name} is not a number: {text[:40]}") from None


def _json(document: object) -> web.Response:
    return web.Response(body=orjson.dumps(document), content_type="application/json")


def _discovery() -> dict[str, dict[str, Any]]:
    """Return the documents by path."""
    versions = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in VERSIONS]
    group = {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}
    documents: dict[str, dict[str, Any]] = {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]},
        f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **group},
    }
    for version in VERSIONS:
        rows = []
        for plural, kind, namespaced in (("clusterqueues", "ClusterQueue", False), ("localqueues", "LocalQueue", True)):
            base = {"singularName": plural[:-1], "namespaced": namespaced}
            rows.append({"name": plural, **base, "kind": kind, "verbs": ["get"]})
            name = f"{plural}/pendingworkloads"
            rows.append({"name": name, **base, "kind": "PendingWorkloadsSummary", "verbs": ["get"]})
        documents[f"/apis/{GROUP}/{version}"] = {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{GROUP}/{version}",
            "resources": rows,
        }
    return documents


_DISCOVERY: Final = _discovery()
