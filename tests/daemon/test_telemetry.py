"""Traces of reviews and rounds: what a span says, that they leave the process, and that off nothing of it is there."""

import asyncio
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.cluster.small_cluster import job, queues
from tests.daemon.serving import RULES, running
from tests.patience import until
from webhook.store.memory import MemoryStore
from webhook.telemetry import Traces


def spans_of(tmp_path, name):
    """Let a process with a queue review one Job of this name, and admit another; give the spans."""
    exporter = InMemorySpanExporter()
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "policy.yaml").write_text(RULES)

    async def go():
        store = MemoryStore()
        for obj in queues("2"):
            await store.create(obj)
        async with running(tmp_path, folder, store, traces=Traces("replica-1", exporter)) as (daemon, talk):
            await talk.judge(name)
            await store.create(job("a"))
            await until(lambda: admitted(daemon), "the job is admitted")

    asyncio.run(go())
    return exporter.get_finished_spans()


def admitted(daemon):
    """Whether the queue holds a workload."""
    return any(line.holders for line in daemon.core.state.by_queue.values())


def test_a_review_and_a_round_are_spans(tmp_path):
    """A denial has its uid, its policies and its message; rounds say how many they admitted."""
    spans = spans_of(tmp_path, "FORBIDDEN")
    (review,) = (span for span in spans if span.name == "review validate")
    assert review.attributes["sluice.request.uid"] == "u-1"
    assert review.attributes["sluice.policies"] == ("no-foo",)
    assert not review.attributes["sluice.allowed"]
    assert "this name is taken" in review.attributes["sluice.denial"]
    assert review.resource.attributes["service.instance.id"] == "replica-1"
    assert review.end_time >= review.start_time
    assert 1 in {span.attributes["sluice.admitted"] for span in spans if span.name == "round"}


def test_spans_are_sent_over_http(tmp_path, monkeypatch):
    """To the collector that OpenTelemetry's variable names."""
    posted = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        traces = Traces("replica-1")
        traces._tracer.start_span("one").end()
        traces.close()
        server.shutdown()
    ((path, body),) = posted
    assert path == "/v1/traces"
    assert b"replica-1" in body


def test_off_nothing_of_it_is_imported():
    """The command does not know the libraries until it is asked for traces."""
    found = "print([m for m in sys.modules if m.startswith('opentelemetry')])"
    code = f"import sys, webhook.cli.commands.server.serve; {found}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
