"""`/mutate` and `/validate`: AdmissionReview in, AdmissionReview out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter

import orjson
from aiohttp import web

from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import BadReview, Request, answer, parse
from webhook.server.body import read_json
from webhook.server.deadlines import Review, seconds_left, with_deadline
from webhook.server.engine import Engine
from webhook.server.limits import Limits
from webhook.server.metrics import ServerMetrics
from webhook.server.responses import JsonResponse, StatusError
from webhook.server.review_batches import ReviewBatches

log = logging.getLogger(__name__)

ROUNDS = 8
"""How often a review may ask for more checks: each round it goes on behind the answers of the last."""


def admission(
    name: str, review: Review, engine: Engine, batches: ReviewBatches, limits: Limits, metrics: ServerMetrics
) -> Callable[[web.BaseRequest, bytes | bytearray], Awaitable[web.StreamResponse]]:
    """Make the handler of one webhook; `name` is `mutate` or `validate`, for the metrics.

    It waits only where the facts of the cluster are not known yet, or a policy needs something of the API server.
    """
    timing, warm, review = metrics.timings[name], engine.warm, with_deadline(review)

    async def handle(call: web.BaseRequest, body: bytes | bytearray) -> web.StreamResponse:
        if not warm.is_set():
            await _warmed(warm, seconds_left(call, limits))
        work = partial(attempt, body, perf_counter())
        done = await batches.take(work)
        if isinstance(done, NeedsFacts):
            return await _asked(done, work, engine, batches, seconds_left(call, limits))
        return done

    def attempt(body: bytes | bytearray, start: float) -> JsonResponse | NeedsFacts:
        request = _request(body)
        try:
            verdict = review(request)
        except Exception as error:
            error.add_note(f"The review's request.uid is {request.uid}.")
            raise
        if isinstance(verdict, NeedsFacts):
            return verdict
        text = orjson.dumps(answer(request.uid, verdict))
        outcome = "denied" if not verdict.allowed else "patched" if verdict.patch else "allowed"
        metrics.reviewed(name, request.operation, request.resource.resource, outcome)
        metrics.judged(verdict)
        if not verdict.allowed and log.isEnabledFor(logging.DEBUG):
            _tell_denied(request, verdict)
        timing.observe(perf_counter() - start)
        return JsonResponse(text)

    return handle


def _tell_denied(request: Request, verdict: Verdict) -> None:
    """Log a denial with the policies that were evaluated."""
    told = {"uid": request.uid, "policy": ",".join(verdict.policies)}
    where = f"{request.namespace}/{request.name}" if request.namespace else request.name
    log.debug(
        "denied %s of %s %s: %s", request.operation, request.resource.resource, where, verdict.message, extra=told
    )


def _request(body: bytes | bytearray) -> Request:
    try:
        return parse(read_json(body))
    except BadReview as error:
        raise StatusError(str(error)) from None


async def _warmed(warm: asyncio.Event, seconds: float) -> None:
    """Hold requests that come right after the start until the facts of the cluster are known."""
    try:
        async with asyncio.timeout(seconds):
            await warm.wait()
    except TimeoutError:
        raise StatusError("the objects of the cluster are not listed yet", 503, "unavailable") from None


async def _asked(
    needs: NeedsFacts,
    work: Callable[[], JsonResponse | NeedsFacts],
    engine: Engine,
    batches: ReviewBatches,
    seconds: float,
) -> JsonResponse:
    """Get the answers that policies need of the API server, and review again, until there is a verdict.

    Meanwhile the request waits as text, and is read again: parsed it takes many times that.
    """
    async with asyncio.timeout(seconds):
        for _ in range(ROUNDS):
            await engine.ask(needs.questions)
            done = await batches.take(work)
            if isinstance(done, JsonResponse):
                return done
            needs = done
    raise StatusError("the policies need too many lookups in the API server", 500, "questions")
