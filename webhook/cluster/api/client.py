"""The only door to the Kubernetes client library, and to HTTP as a client.

Connection, credentials and TLS are the library's; requests go by path, so that any kind works, known to the library
or not. Answers that are errors become `StoreError`s.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from aiohttp.connector import Connection
from kubernetes.aio import client as _client_module
from kubernetes.aio import config as _config_module
from kubernetes.aio.config.config_exception import ConfigException

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.store.errors import AlreadyExists, Conflict, Expired, NotFound, Refused, StoreError, Unavailable

kubernetes_client: Any = _client_module  # the library has no types of its own
kubernetes_config: Any = _config_module

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before what was put off is sent again, where the API server names no longer ones."""

METHODS: Final = {
    "create": ("POST", JSON),
    "update": ("PUT", JSON),
    "patch": ("PATCH", MERGE_PATCH),
    "apply": ("PATCH", APPLY_PATCH),
    "delete": ("DELETE", JSON),
}
"""Verb of a write -> its method and content type."""
RESULTS: Final = {
    NotFound: "not_found",
    AlreadyExists: "exists",
    Conflict: "conflict",
    Refused: "refused",
    Unavailable: "unavailable",
}
"""What comes of writes that fail; of one that is unavailable it is not known whether it was done."""
Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the client may write: `per_second` on average, `burst` at once; and how long one request may take."""

    per_second: float = 50.0
    burst: int = 100
    timeout: float = 4.0


@dataclass(frozen=True, slots=True)
class Write:
    """A change to be sent. `resource` is what it is counted under; a subresource stands behind a slash."""

    verb: str
    path: str
    resource: str
    body: object
    query: Query = field(default_factory=dict)


class Client:
    """A pool of connections to one API server. Reads go at once; writes wait for their turn, unless told otherwise.

    `writes` counts what was written, by resource, verb and result.
    """

    def __init__(self, configuration: Any, pace: Pace, clock: Callable[[], float]) -> None:
        configuration.retries = None
        configuration.client_side_validation = False
        configuration.proxy = configuration.proxy or proxy_for(str(configuration.host))
        self._api: Any = kubernetes_client.ApiClient(configuration)
        self._connections = _Connections(limit=configuration.connection_pool_maxsize, ssl=_context(self._api))
        # the session would read the environment, and ~/.netrc, in a thread for each request
        configuration.client_session_kwargs = {"connector": self._connections, "trust_env": False}
        self.host = str(configuration.host).rstrip("/")
        self._turns, self._clock = _Turns(pace, clock), clock
        self.timeout = pace.timeout
        self.writes: Counter[tuple[str, str, str]] = Counter()

    @classmethod
    async def connect(
        cls, kubeconfig: Path | None, context: str | None, pace: Pace, clock: Callable[[], float]
    ) -> Client:
        """Read the credentials: of `kubeconfig`, else of the pod's service account, else of the user's default file.

        Raises ValueError where none of these can be used. Nothing is sent yet.
        """
        configuration = kubernetes_client.Configuration()
        try:
            if kubeconfig is None and _in_cluster():
                kubernetes_config.load_incluster_config(configuration)
            else:
                await _load(_kubeconfigs(kubeconfig), context, configuration)
        except (ConfigException, OSError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"cannot connect to a cluster: {error} (set KUBECONFIG, or --kubeconfig FILE)") from None
        return cls(configuration, pace, clock)

    async def read(self, path: str, query: Query | None = None, seconds: float = 0.0) -> Any:
        """Send a GET, and give the parsed answer. Raises StoreError; `seconds` is a budget other than the usual."""
        return await self._request("GET", path, query or {}, None, JSON, seconds)

    async def write(self, write: Write, *, at_once: bool = False) -> Any:
        """Send a change and give the parsed answer, when its turn has come. Raises StoreError.

        One `at_once` neither waits for its turn nor takes one. Every write is counted, by what came of it.
        """
        method, content_type = METHODS[write.verb]
        if not at_once:
            await self._turns.wait()
        query = {"timeout": f"{int(self.timeout) or 1}s", **write.query}
        result = "cancelled"
        try:
            answer = await self._request(method, write.path, query, write.body, content_type)
            result = "ok"
            return answer
        except StoreError as error:
            result = RESULTS.get(type(error), "failed")
            raise
        finally:
            self.writes[write.resource, write.verb, result] += 1

    async def _request(
        self, method: str, path: str, query: Query, body: object, content_type: str, seconds: float = 0.0
    ) -> Any:
        """Send one request. What the API server puts off (429) was not carried out: it is sent again after its pause.

        Within the timeout, that is.
        """
        limit = aiohttp.ClientTimeout(total=seconds or self.timeout)
        until = self._clock() + self.timeout
        for pause in PAUSES:
            with _failures():
                response = await self._send(method, path, query, body, content_type, limit)
                data = await response.read()
            pause = max(pause, _after(response.headers))
            if response.status != 429 or self._clock() + pause > until:
                break
            await asyncio.sleep(pause)
        return _answer(response.status, response.headers, data)

    @asynccontextmanager
    async def stream(self, path: str, query: Query, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and give its lines; `silence` is how many seconds without a byte mean a dead connection."""
        with _failures():
            limit = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=silence)
            response = await self._send("GET", path, query, None, JSON, limit)
        try:
            if response.status >= 400:
                _answer(response.status, response.headers, await response.read())
            yield _lines(response)
        finally:
            response.response.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._api.close()
        await self._connections.close()

    async def _send(
        self, method: str, path: str, query: Query, body: object, content_type: str, limit: aiohttp.ClientTimeout
    ) -> Any:
        headers = {"Accept": JSON, "Content-Type": content_type, "User-Agent": "sluice"}
        await self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        url = f"{self.host}{path}" + (f"?{urlencode(query)}" if query else "")
        return await self._api.rest_client.request(method, url, headers=headers, body=body, _request_timeout=limit)


class _Connections(aiohttp.TCPConnector):
    """Connections that are gone once they are closed.

    aiohttp says goodbye in TLS to a server whose answer it no longer wants, and forgets the connection. A server that
    does not reply then holds it for half a minute, or beyond the end of the event loop.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._transports: set[asyncio.Transport] = set()

    async def connect(self, *request: Any, **options: Any) -> Connection:
        """Give a connection from the pool, or a new one."""
        self._sweep()
        connection = await super().connect(*request, **options)
        if connection.transport is not None:
            self._transports.add(connection.transport)
        return connection

    async def close(self, *, abort_ssl: bool = True) -> None:
        """Close all connections, those that were given up as well."""
        await super().close(abort_ssl=abort_ssl)
        self._sweep()
        await asyncio.sleep(0)  # an aborted transport closes its socket in the next round of the loop

    def _sweep(self) -> None:
        closing = {transport for transport in self._transports if transport.is_closing()}
        self._transports -= closing
        for transport in closing:
            transport.abort()


def proxy_for(host: str) -> str | None:
    """Give the proxy to an API server by the environment (HTTPS_PROXY, NO_PROXY), None for a direct connection."""
    parts = urlsplit(host)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _context(api: Any) -> ssl.SSLContext:
    """Give what the library made of the certificates in the credentials."""
    context: ssl.SSLContext = api.rest_client.ssl_context
    return context


def _kubeconfigs(kubeconfig: Path | None) -> list[Path]:
    """Name the files that the library is going to read."""
    if kubeconfig is not None:
        return [kubeconfig]
    named = [Path(p).expanduser() for p in os.environ.get("KUBECONFIG", "~/.kube/config").split(os.pathsep) if p]
    return [path for path in named if path.is_file()]


async def _load(files: list[Path], context: str | None, configuration: Any) -> None:
    """Take credentials from a kubeconfig; several of them, or none, are the library's to merge and to tell."""
    values = [_read(file) for file in files]
    known = [str(entry.get("name")) for value in values for entry in value.get("contexts") or ()]
    if values and context and context not in known:
        raise ValueError(f'the kubeconfig has no context "{context}"; it has: {", ".join(known) or "none"}')
    if len(values) != 1:
        await kubernetes_config.load_kube_config(None, context, configuration)
        return
    base = str(files[0].absolute().parent)
    loader = kubernetes_config.kube_config.KubeConfigLoader(values[0], context, config_base_path=base)
    await loader.load_and_set(configuration)


def _read(kubeconfig: Path) -> dict[str, Any]:
    """Read a kubeconfig as all files are read: the library neither bounds nesting nor tells where a mistake is.

    Raises ValueError, with the place of the mistake, or OSError.
    """
    try:
        found = documents.read(documents.decode(kubeconfig.read_bytes(), str(kubeconfig)), str(kubeconfig))
        if len(found) != 1 or not isinstance(found[0].value, dict):
            told = "not a kubeconfig file: expected one document with clusters, contexts and users"
            raise SourceError([Diagnostic("INP001", Place(str(kubeconfig)), told)])
    except SourceError as error:
        raise ValueError(error.render()) from None
    value: dict[str, Any] = found[0].value
    return value


def default_namespace(kubeconfig: Path | None, context: str | None) -> str:
    """Give the namespace of a kubeconfig's context; `default` where it names none. Raises ValueError, OSError."""
    for file in _kubeconfigs(kubeconfig):
        values = _read(file)
        wanted = context or values.get("current-context")
        for entry in values.get("contexts") or ():
            if entry.get("name") == wanted:
                return str((entry.get("context") or {}).get("namespace") or "default")
    return "default"


class _Turns:
    """A token bucket."""

    def __init__(self, pace: Pace, clock: Callable[[], float]) -> None:
        self._pace, self._clock = pace, clock
        self._tokens, self._at = float(pace.burst), clock()

    async def wait(self) -> None:
        now = self._clock()
        self._tokens = min(float(self._pace.burst), self._tokens + (now - self._at) * self._pace.per_second)
        self._at = now
        self._tokens -= 1
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._pace.per_second)


class _failures:
    """Turn what the transport raises into Unavailable."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
            raise Unavailable(f"cannot reach the API server: {str(error) or type(error).__name__}") from error


async def _lines(response: Any) -> AsyncIterator[bytes]:
    with _failures():
        async for line in response.response.content:
            yield line


def _answer(status: int, headers: Mapping[str, str], data: bytes) -> Any:
    if status < 400:
        return orjson.loads(data) if data else None
    raise failure(status, headers, data)


def _after(headers: Mapping[str, str]) -> float:
    """Give the seconds that the server asks to wait."""
    after = headers.get("Retry-After", "")
    return float(after) if after.isdigit() else 0.0


def failure(status: int, headers: Mapping[str, str], data: bytes) -> StoreError:
    """Name the error that a status and a `Status` object stand for."""
    try:
        body = orjson.loads(data)
        message, reason = str(body.get("message") or ""), str(body.get("reason") or "")
    except (orjson.JSONDecodeError, AttributeError):
        message, reason = data[:200].decode("utf-8", "replace"), ""
    message = message or f"HTTP {status}"
    match status:
        case 404:
            return NotFound(message)
        case 409:
            return AlreadyExists(message) if reason == "AlreadyExists" else Conflict(message)
        case 410:
            return Expired(message)
        case 429 | 500 | 502 | 503 | 504:
            return Unavailable(message, _after(headers))
    return Refused(message, status)


def _in_cluster() -> bool:
    return Path("/var/run/secrets/kubernetes.io/serviceaccount/token").exists()
