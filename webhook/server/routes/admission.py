"""`/mutate` and `/validate`: AdmissionReview in, AdmissionReview out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

import orjson
from aiohttp import web

from webhook.admission.verdict import NeedsAuthorization, Verdict
from webhook.admission.wire import BadReview, Request, answer, parse
from webhook.server.body import BadRequest, Limits, read_json
from webhook.server.engine import Engine
from webhook.server.metrics import ServerMetrics

Handler = Callable[[web.Request], Awaitable[web.Response]]
Review = Callable[..., Verdict | NeedsAuthorization]

ROUNDS = 8
"""How often a review may ask for more checks: each round it goes on behind the answers of the last."""
HEADERS = {"Content-Type": "application/json"}


def admission(name: str, review: Review, engine: Engine, limits: Limits, metrics: ServerMetrics) -> Handler:
    """Make the handler of one webhook; `name` is `mutate` or `validate`, for the metrics."""
    timing, warm = metrics.timings[name], engine.warm

    async def handle(http: web.Request) -> web.Response:
        if not warm.is_set():
            await _warmed(warm, _patience(http, limits))
        document = await read_json(http, limits)
        start = perf_counter()
        try:
            request = parse(document)
        except BadReview as error:
            raise BadRequest(str(error)) from None
        verdict = review(request)
        if isinstance(verdict, NeedsAuthorization):
            verdict = await _authorized(verdict, request, review, engine, _patience(http, limits))
        body = orjson.dumps(answer(request.uid, verdict))
        outcome = "denied" if not verdict.allowed else "patched" if verdict.patch else "allowed"
        metrics.reviewed(name, request.operation, request.resource.resource, outcome)
        metrics.warnings += len(verdict.warnings)
        timing.observe(perf_counter() - start)
        return web.Response(body=body, headers=HEADERS)

    return handle


async def _warmed(warm: asyncio.Event, seconds: float) -> None:
    """Let a request that comes right after the start wait until the facts of the cluster are known."""
    try:
        async with asyncio.timeout(seconds):
            await warm.wait()
    except TimeoutError:
        raise BadRequest("the objects of the cluster are not known yet", 503, "unavailable") from None


async def _authorized(
    needs: NeedsAuthorization, request: Request, review: Review, engine: Engine, seconds: float
) -> Verdict:
    """Get the answers a policy's authorizer asks for, and review again, until there is a verdict."""
    async with asyncio.timeout(seconds):
        for _ in range(ROUNDS):
            await engine.authorize(needs.checks)
            verdict = review(request)
            if isinstance(verdict, Verdict):
                return verdict
            needs = verdict
    raise BadRequest("a policy keeps asking for authorization checks", 500, "authorization")


def _patience(http: web.Request, limits: Limits) -> float:
    """Give the seconds left: the API server says in the URL how long it waits (`?timeout=10s`)."""
    text = http.query.get("timeout", "").removesuffix("s")
    asked = float(text) if text.isascii() and text.isdigit() else limits.seconds
    return max(0.5, min(asked - 0.5, limits.seconds))
