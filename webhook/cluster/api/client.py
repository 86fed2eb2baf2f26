"""HTTP client for the API server, and the only user of the Kubernetes client library.

Credentials and TLS are the library's (the files are found by `kubeconfig.py`); requests are sent by path, so that any
kind works, whether the library knows it or not. Error responses are raised as `StoreError`s.
"""

from __future__ import annotations

import asyncio
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

from webhook.cluster.api.kubeconfig import files_of, means_own_cluster, read_with_context
from webhook.store.errors import AlreadyExists, Conflict, Expired, NotFound, Refused, StoreError, Unavailable

kubernetes_client: Any = _client_module  # the library has no types of its own
kubernetes_config: Any = _config_module

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds to wait before a request that was answered with 429 is sent again; a longer Retry-After takes precedence."""

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
"""Result labels of failed writes. After `unavailable` it is unknown whether the write was carried out."""
UNLIMITED: Final = frozenset(("leases",))
"""Writes that do not count against the rate limit: behind a queue of others a renewal would come too late."""
REPORTS: Final = frozenset(("events", "clusterqueues/status", "localqueues/status", "cohorts/status"))
"""Writes that say what has happened. Nothing waits for them, so they do not hold up others."""
SHARE: Final = 4
"""Of so many writes one is a report while others wait for their turn."""
BUFFER: Final = 2**21
"""Bytes of a response that are buffered."""
UNTIMED: Final = aiohttp.ClientTimeout(total=None)
Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pace:
    """Client-side limits: writes `per_second` on average, `burst` at once, `timeout` of a request in seconds."""

    per_second: float = 50.0
    burst: int = 100
    timeout: float = 4.0


@dataclass(frozen=True, slots=True)
class Write:
    """A write request. `resource` is the label it is counted under; a subresource follows a slash."""

    verb: str
    path: str
    resource: str
    body: object
    query: Query = field(default_factory=dict)


class Client:
    """A pool of connections to one API server. Reads are sent at once; writes are rate-limited unless UNLIMITED.

    `writes` counts the writes by resource, verb and result.
    """

    def __init__(self, configuration: Any, pace: Pace, clock: Callable[[], float]) -> None:
        configuration.retries = None
        configuration.client_side_validation = False
        configuration.proxy = configuration.proxy or proxy_for(str(configuration.host))
        self._api: Any = kubernetes_client.ApiClient(configuration)
        self._connections = _Connections(limit=configuration.connection_pool_maxsize, ssl=_context(self._api))
        # with trust_env the session would read the environment and ~/.netrc in a thread for each request
        self._session = aiohttp.ClientSession(connector=self._connections, trust_env=False, read_bufsize=BUFFER)
        self._route: dict[str, Any] = {
            "server_hostname": configuration.tls_server_name or None,
            "proxy": configuration.proxy,
            "proxy_headers": configuration.proxy_headers,
        }
        self.host = str(configuration.host).rstrip("/")
        self._bucket, self._clock = _TokenBucket(pace, clock), clock
        self.timeout = pace.timeout
        self.writes: Counter[tuple[str, str, str]] = Counter()

    @classmethod
    async def connect(
        cls, kubeconfig: Path | None, context: str | None, pace: Pace, clock: Callable[[], float]
    ) -> Client:
        """Read the credentials: `kubeconfig`, else what `context` or $KUBECONFIG name, else the pod's service account,
        else ~/.kube/config.

        Raises ValueError if none of these can be used. No request is sent yet.
        """
        configuration = kubernetes_client.Configuration()
        try:
            await _load(kubeconfig, context, configuration)
        except (ConfigException, OSError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"cannot connect to a cluster: {error} (set KUBECONFIG, or --kubeconfig FILE)") from None
        return cls(configuration, pace, clock)

    async def read(self, path: str, query: Query | None = None, seconds: float = 0.0) -> Any:
        """Send a GET and return the parsed response. `seconds` overrides the timeout. Raises StoreError."""
        return await self._request("GET", path, query or {}, None, JSON, seconds)

    async def write(self, write: Write) -> Any:
        """Send a write, within the rate limit, and return the parsed response. Raises StoreError.

        Every write is counted in `writes` by its result.
        """
        method, content_type = METHODS[write.verb]
        if write.resource not in UNLIMITED:
            await self._bucket.wait(report=write.resource in REPORTS)
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
        """Send one request, and again after a pause while the API server answers 429, within the timeout.

        A request that was answered with 429 was not carried out. Raises StoreError.
        """
        until = self._clock() + self.timeout
        for pause in PAUSES:
            with _failures(self.host):
                # not aiohttp's own limit: where its task is cancelled in the same moment, that one takes both for it
                async with asyncio.timeout(seconds or self.timeout):
                    response = await self._send(method, path, query, body, content_type, UNTIMED)
                    data = await response.read()
            pause = max(pause, _after(response.headers))
            if response.status != 429 or self._clock() + pause > until:
                break
            await asyncio.sleep(pause)
        return _answer(response.status, response.headers, data)

    @asynccontextmanager
    async def stream(self, path: str, query: Query, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and yield its lines. After `silence` seconds without a byte the connection counts as dead."""
        with _failures(self.host):
            limit = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=silence)
            response = await self._send("GET", path, query, None, JSON, limit)
        try:
            if response.status >= 400:
                _answer(response.status, response.headers, await response.read())
            yield _lines(response, self.host)
        finally:
            response.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._api.close()
        await self._session.close()

    async def _send(
        self, method: str, path: str, query: Query, body: object, content_type: str, limit: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": JSON, "Content-Type": content_type, "User-Agent": "sluice"}
        await self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        url = f"{self.host}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else orjson.dumps(body)
        return await self._session.request(method, url, headers=headers, data=data, timeout=limit, **self._route)


class _Connections(aiohttp.TCPConnector):
    """A connector that aborts closed TLS connections at once.

    aiohttp starts the TLS shutdown of a connection whose response is no longer wanted, and forgets it. If the server
    does not answer, the socket stays open for half a minute, or past the end of the event loop.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._transports: set[asyncio.Transport] = set()

    async def connect(self, *request: Any, **options: Any) -> Connection:
        """Return a connection from the pool, or a new one."""
        self._sweep()
        connection = await super().connect(*request, **options)
        if connection.transport is not None:
            self._transports.add(connection.transport)
        return connection

    async def close(self, *, abort_ssl: bool = True) -> None:
        """Close all connections, including abandoned ones."""
        await super().close(abort_ssl=abort_ssl)
        self._sweep()
        await asyncio.sleep(0)  # an aborted transport closes its socket in the next iteration of the loop

    def _sweep(self) -> None:
        closing = {transport for transport in self._transports if transport.is_closing()}
        self._transports -= closing
        for transport in closing:
            transport.abort()


def proxy_for(host: str) -> str | None:
    """Return the proxy for an API server from the environment (HTTPS_PROXY, NO_PROXY); None for a direct connection."""
    parts = urlsplit(host)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _context(api: Any) -> ssl.SSLContext:
    """Return the SSL context that the library built from the credentials."""
    context: ssl.SSLContext = api.rest_client.ssl_context
    return context


async def _load(kubeconfig: Path | None, context: str | None, configuration: Any) -> None:
    """Load the credentials. If there are several kubeconfig files, the library merges them."""
    if means_own_cluster(kubeconfig, context):
        kubernetes_config.load_incluster_config(configuration)
        return
    files = files_of(kubeconfig)
    values = read_with_context(files, context)
    if len(values) != 1:
        await kubernetes_config.load_kube_config(None, context, configuration)
        return
    base = str(files[0].absolute().parent)
    loader = kubernetes_config.kube_config.KubeConfigLoader(values[0], context, config_base_path=base)
    await loader.load_and_set(configuration)


class _TokenBucket:
    """Bounds the rate of writes. While other writes wait for tokens, reports get one of SHARE."""

    def __init__(self, pace: Pace, clock: Callable[[], float]) -> None:
        self._pace, self._clock = pace, clock
        self._tokens, self._at = float(pace.burst), clock()
        self._next_report = self._scarce_until = 0.0

    async def wait(self, *, report: bool) -> None:
        share = SHARE / self._pace.per_second
        now = self._clock()
        if report and now < self._scarce_until:
            turn = max(now, self._next_report)
            self._next_report = turn + share
            await asyncio.sleep(turn - now)
        rest = self._take()
        if rest and not report:
            self._scarce_until = self._clock() + rest + share
        if rest:
            await asyncio.sleep(rest)

    def _take(self) -> float:
        """Take a token, and return the seconds until it is there."""
        now = self._clock()
        self._tokens = min(float(self._pace.burst), self._tokens + (now - self._at) * self._pace.per_second) - 1
        self._at = now
        return max(0.0, -self._tokens / self._pace.per_second)


class _failures:
    """Raise exceptions of the transport as Unavailable; `host` is the URL of the API server."""

    def __init__(self, host: str) -> None:
        self._host = host

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
            why = str(error) or f"no answer from {self._host} in time"
            raise Unavailable(f"cannot reach the API server: {why}") from error


async def _lines(response: aiohttp.ClientResponse, host: str) -> AsyncIterator[bytes]:
    """Yield complete lines of any length: an object may be six times as long in JSON as in a request (`\\u003c`).

    What comes after the last line break was cut off.
    """
    parts: list[bytes] = []
    with _failures(host):
        async for piece in response.content.iter_any():
            first, *others = piece.split(b"\n")
            parts.append(first)
            for start in others:
                yield b"".join(parts)
                parts = [start]


def _answer(status: int, headers: Mapping[str, str], data: bytes) -> Any:
    if status < 400:
        return parsed(data) if data else None
    raise failure(status, headers, data)


def parsed(data: bytes) -> Any:
    """Parse a response. Raises Unavailable for what is no JSON, such as the page of a proxy."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Unavailable(f"not an answer of the API server: {data[:200].decode('utf-8', 'replace')}") from None


def _after(headers: Mapping[str, str]) -> float:
    """Return the seconds of the Retry-After header."""
    after = headers.get("Retry-After", "")
    return float(after) if after.isdigit() else 0.0


def failure(status: int, headers: Mapping[str, str], data: bytes) -> StoreError:
    """Return the StoreError for an HTTP status and the `Status` object in the body."""
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
