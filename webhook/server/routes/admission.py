"""`/mutate` and `/validate`: AdmissionReview in, AdmissionReview out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import perf_counter

import orjson

from webhook.admission.verdict import NeedsAuthorization, Verdict
from webhook.admission.wire import BadReview, Request, answer, parse
from webhook.server.alarm import Review, watched
from webhook.server.body import read_json
from webhook.server.engine import Engine
from webhook.server.limits import Limits
from webhook.server.messages import Answer, BadRequest, Call, Handler
from webhook.server.metrics import ServerMetrics

ROUNDS = 8
"""How often a review may ask for more checks: each round it goes on behind the answers of the last."""


def admission(name: str, review: Review, engine: Engine, limits: Limits, metrics: ServerMetrics) -> Handler:
    """Make the handler of one webhook; `name` is `mutate` or `validate`, for the metrics.

    It answers at once, but where the facts of the cluster are not known yet or a policy asks for an authorization.
    """
    timing, warm, review = metrics.timings[name], engine.warm, watched(review)

    def handle(call: Call) -> Answer | Awaitable[Answer]:
        if not warm.is_set():
            return later(call)
        start = perf_counter()
        request = _request(call, limits)
        verdict = review(request)
        if type(verdict) is NeedsAuthorization:
            return ask(call, verdict, request, start)
        return finish(request, verdict, start)  # type: ignore[arg-type]

    async def later(call: Call) -> Answer:
        await _warmed(warm, _patience(call, limits))
        given = handle(call)
        return given if isinstance(given, Answer) else await given

    async def ask(call: Call, needs: NeedsAuthorization, request: Request, start: float) -> Answer:
        return finish(request, await _authorized(needs, request, review, engine, _patience(call, limits)), start)

    def finish(request: Request, verdict: Verdict, start: float) -> Answer:
        body = orjson.dumps(answer(request.uid, verdict))
        outcome = "denied" if not verdict.allowed else "patched" if verdict.patch else "allowed"
        metrics.reviewed(name, request.operation, request.resource.resource, outcome)
        metrics.warnings += len(verdict.warnings)
        timing.observe(perf_counter() - start)
        return Answer(body)

    return handle


def _request(call: Call, limits: Limits) -> Request:
    try:
        return parse(read_json(call, limits))
    except BadReview as error:
        raise BadRequest(str(error)) from None


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


def _patience(call: Call, limits: Limits) -> float:
    """Give the seconds left: the API server says in the URL how long it waits (`?timeout=10s`)."""
    text = (call.parameter("timeout") or "").removesuffix("s")
    asked = float(text) if text.isascii() and text.isdigit() else limits.seconds
    return max(0.5, min(asked - 0.5, limits.seconds))
