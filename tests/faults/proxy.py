"""A proxy on loopback between one replica and the API server, which answers, holds and cuts as a test says.

It speaks plain HTTP to the replica and TLS to the API server. Faults are functions from a call to what to do with it.
"""

import asyncio
import json
import random
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from tests.controlplane.cluster import ControlPlane

HOP = frozenset({"connection", "host", "keep-alive", "transfer-encoding", "content-length"})


@dataclass(frozen=True, slots=True)
class Call:
    """A request as faults see it."""

    method: str
    path: str
    watch: bool

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer in the API server's place; the call is not passed on. A watch may be told by an event instead."""

    status: int
    reason: str
    retry_after: int | None = None
    as_event: bool = False


@dataclass(frozen=True, slots=True)
class Lose:
    """Pass the call on, after some seconds, and close the connection instead of answering."""

    after: float = 0.0


Fault = Callable[[Call], Answer | Lose | None]


def some(share: float, concerned: Fault) -> Fault:
    """A fault that befalls a share of the calls that it concerns, by a seed."""
    dice = random.Random(16)
    return lambda call: concerned(call) if dice.random() < share else None


class ApiProxy:
    """Listens at `url` until `close`. `fault` may be replaced at any time; None passes everything on."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.fault: Fault | None = None
        self.url = ""
        self.hits = 0
        """Calls that a fault did something to."""
        self._watches: set[asyncio.Transport] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(),), daemon=True)
        self._thread.start()
        self._ready.wait()

    def cut_watches(self) -> int:
        """Close every open watch; give how many there were."""
        cut = len(self._watches)
        self.hits += cut
        self._loop.call_soon_threadsafe(self._abort)
        return cut

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _abort(self) -> None:
        for transport in tuple(self._watches):
            transport.abort()

    async def _run(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        trust = ssl.create_default_context(cafile=str(self._plane.ca))
        connector = aiohttp.TCPConnector(ssl=trust, limit=0)
        unbounded = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=unbounded, auto_decompress=False) as session:
            self._session = session
            runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            self._ready.set()
            await self._end.wait()
            self._abort()
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = Call(request.method, request.path, "watch" in request.query)
        act = self.fault(call) if self.fault is not None else None
        if act is not None:
            self.hits += 1
        body = await request.read()
        if isinstance(act, Answer):
            return _answer(act)
        if isinstance(act, Lose):
            await asyncio.sleep(act.after)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        try:
            async with self._session.request(
                request.method, f"{self._plane.url}{request.path_qs}", data=body, headers=headers
            ) as answer:
                if isinstance(act, Lose):
                    await answer.read()
                    return _cut(request)
                return await self._stream(request, answer, call)
        except aiohttp.ClientError:
            return _cut(request)  # the API server is away

    async def _stream(self, request: web.BaseRequest, answer: aiohttp.ClientResponse, call: Call) -> web.StreamResponse:
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
        if not call.watch:
            return web.Response(status=answer.status, headers=kept, body=await answer.read())
        told = web.StreamResponse(status=answer.status, headers=kept)
        await told.prepare(request)
        transport = request.transport
        assert transport is not None
        self._watches.add(transport)
        try:
            async for data in answer.content.iter_any():
                await told.write(data)
        except ConnectionError:
            pass  # the replica has left
        finally:
            self._watches.discard(transport)
        return told


def _cut(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _answer(act: Answer) -> web.Response:
    status = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "injected", "reason": act.reason, "code": act.status,
    }  # fmt: skip
    if act.as_event:
        return web.Response(
            text=json.dumps({"type": "ERROR", "object": status}) + "\n", content_type="application/json"
        )
    headers = {} if act.retry_after is None else {"Retry-After": str(act.retry_after)}
    return web.json_response(status, status=act.status, headers=headers)
