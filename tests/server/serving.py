"""A server for tests: the real application on a free loopback port over TLS, with an engine the test gives."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client import CollectorRegistry

from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.server.app import make_app, state_routes
from webhook.server.health import Health
from webhook.server.limits import Limits
from webhook.server.listener import Listener
from webhook.server.metrics import ServerMetrics
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure
from webhook.tls.serving_certificate import ServingCertificate


@dataclass
class ScriptedEngine:
    """Answers by the functions it was given, and notes what it was asked to authorize."""

    on_mutate: Callable[[Any], Verdict | NeedsFacts] = lambda request: Verdict(allowed=True)
    on_validate: Callable[[Any], Verdict | NeedsFacts] = lambda request: Verdict(allowed=True)
    asked: list[Any] = field(default_factory=list)
    warm: asyncio.Event = field(default_factory=asyncio.Event)
    cold: bool = False
    parts: list[str] = field(default_factory=list)

    def __post_init__(self):
        if not self.cold:
            self.warm.set()

    def mutate(self, request, only=""):
        self.parts.append(only)
        return self.on_mutate(request)

    def validate(self, request, only=""):
        self.parts.append(only)
        return self.on_validate(request)

    async def ask(self, questions):
        self.asked.extend(questions)


@dataclass
class Served:
    """What a test talks to."""

    url: str
    session: aiohttp.ClientSession
    health: Health
    metrics: ServerMetrics
    registry: CollectorRegistry
    listener: Listener

    async def post(self, path: str, **options: Any) -> tuple[int, Any]:
        async with self.session.post(self.url + path, **options) as response:
            return response.status, await response.json()

    async def text(self, path: str) -> tuple[int, str]:
        async with self.session.get(self.url + path) as response:
            return response.status, await response.text()


@asynccontextmanager
async def serve(
    folder: Path,
    engine: Any = None,
    convert: Any = None,
    *,
    client_ca: Path | None = None,
    check_client: Any = None,
    **limits: Any,
) -> AsyncIterator[Served]:
    where = Folder(folder)
    ensure(where, ("localhost", "127.0.0.1"), datetime.now(UTC))
    registry, metrics, health = CollectorRegistry(), ServerMetrics(), Health()
    registry.register(metrics)
    app = make_app(
        engine or ScriptedEngine(),
        convert or (lambda review: review),
        state_routes(health, registry),
        metrics,
        Limits(**limits),
        check_client,
    )
    listener = Listener(app, "--listen", "127.0.0.1:0", ServingCertificate(where, client_ca).context)
    port = await listener.start()
    trust = ssl.create_default_context(cafile=str(where.bundle))
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            yield Served(f"https://127.0.0.1:{port}", session, health, metrics, registry, listener)
    finally:
        await listener.stop()


def review(**request: Any) -> dict[str, Any]:
    """A CREATE of a Job, with the given fields of the request replaced."""
    base = {
        "uid": "u-1",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "name": "j",
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "ann"},
        "object": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**base, **request}}
