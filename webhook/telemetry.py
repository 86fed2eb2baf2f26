"""OpenTelemetry traces of reviews and rounds. Imported only where they are wanted: the libraries are an extra.

A span is made when its work is over, with the times that were measured anyway, and sent by a thread. Where to, how
often and which share is said by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER`).
"""

from __future__ import annotations

import time
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue

from webhook.admission.verdict import Verdict
from webhook.policy.request import Request
from webhook.queue.decisions import Decisions

SERVICE: Final = "sluice"


class Traces:
    """Makes a span of each review and each round. `close` sends what is left."""

    def __init__(self, identity: str, exporter: SpanExporter | None = None) -> None:
        """Begin; `identity` is the replica's name. Without an `exporter` it is OTLP over HTTP."""
        resource = Resource.create({"service.name": SERVICE, "service.instance.id": identity})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(SERVICE)

    def review(self, request: Request, verdict: Verdict, seconds: float, phase: str) -> None:
        """Make a span of a review that took so many seconds until now; its name is the phase."""
        attributes: dict[str, AttributeValue] = {
            "sluice.request.uid": request.uid,
            "sluice.operation": request.operation,
            "sluice.resource": request.resource.resource,
            "sluice.namespace": request.namespace,
            "sluice.allowed": verdict.allowed,
            "sluice.policies": verdict.policies,
            "sluice.changed_by": verdict.changed_by,
        }
        end = time.time_ns()
        begun = end - int(seconds * 1e9)
        span = self._tracer.start_span(f"review {phase}", kind=SpanKind.SERVER, attributes=attributes, start_time=begun)
        if not verdict.allowed:
            span.set_attribute("sluice.denial", verdict.message)
        span.end(end)

    def round(self, decisions: Decisions, milliseconds: int) -> None:
        """Make a span of a round of the queue that took so long until now."""
        attributes = {
            "sluice.admitted": len(decisions.admitted),
            "sluice.preempted": len(decisions.preempted),
            "sluice.evicted": len(decisions.evicted),
            "sluice.complete": decisions.complete,
        }
        end = time.time_ns()
        self._tracer.start_span("round", attributes=attributes, start_time=end - milliseconds * 1_000_000).end(end)

    def close(self) -> None:
        """Send what waits, and end the thread."""
        self._provider.shutdown()
