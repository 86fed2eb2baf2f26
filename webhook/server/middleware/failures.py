"""Turns what goes wrong into an answer: a bad request into a 4xx, our own bug into a 500 that is logged and counted.

A 500 lets the webhook's failurePolicy decide, as the API server does for any webhook that cannot answer.
"""

from __future__ import annotations

import logging

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from webhook.server.body import BadRequest
from webhook.server.metrics import ServerMetrics

log = logging.getLogger(__name__)


def failures(metrics: ServerMetrics) -> Middleware:
    """Make the middleware. It also counts the requests in flight."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        metrics.in_flight += 1
        try:
            return await handler(request)
        except BadRequest as error:
            metrics.failures[error.kind] += 1
            return problem(error.status, str(error))
        except TimeoutError:
            metrics.failures["timeout"] += 1
            return problem(504, "no verdict within the time the API server waits")
        except web.HTTPException as error:
            return problem(error.status, error.reason)
        except Exception:
            metrics.failures["internal"] += 1
            log.exception("%s %s failed: this is a bug of Sluice", request.method, request.path)
            return problem(500, "internal error: see the log of Sluice")
        finally:
            metrics.in_flight -= 1

    return guard


def problem(status: int, message: str) -> web.Response:
    """Give a `Status` object, which is what the API server shows of a failed webhook call."""
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": status, "message": message}
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")
