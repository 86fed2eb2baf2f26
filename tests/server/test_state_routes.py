"""Health, metrics and the way down."""

import asyncio
import threading

import aiohttp
import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tests.patience import PATIENCE
from tests.server.serving import ScriptedEngine, review, serve
from webhook.admission.gate import Check
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.server.health import HealthCondition
from webhook.server.metrics import MAX_COMBINATIONS, ServerMetrics
from webhook.setting_values import host_and_port


def test_readiness_follows_its_conditions(tmp_path):
    """`/readyz` is 503 while a condition fails and names it; `?verbose` lists all; `/livez` does not care."""
    state = {"ok": False}

    async def go():
        async with serve(tmp_path) as served:
            served.health.add("bundle", lambda: HealthCondition(ok=True, detail="12 policies"))
            served.health.add("view", lambda: HealthCondition(ok=state["ok"]))
            before = await served.text("/readyz")
            alive = await served.text("/livez")
            state["ok"] = True
            return before, alive, await served.text("/readyz"), await served.text("/readyz?verbose")

    before, alive, after, verbose = asyncio.run(go())
    assert before[0] == 503
    assert "[-]view failed" in before[1]
    assert alive == (200, "ok\n")
    assert after == (200, "ok\n")
    assert verbose[1].splitlines() == ["[+]bundle ok: 12 policies", "[+]view ok", "ok"]


def test_metrics_count_what_was_answered(tmp_path):
    """A denial and a bad request show up in `/metrics` under their own names, with a time for the one answered."""
    engine = ScriptedEngine(on_validate=lambda _: Verdict(allowed=False, code=403, message="no", warnings=("w",)))

    async def go():
        async with serve(tmp_path, engine) as served:
            await served.post("/validate", json=review())
            await served.post("/validate", json=[])
            return await served.text("/metrics")

    status, text = asyncio.run(go())
    assert status == 200
    row = 'sluice_admission_requests_total{operation="CREATE",outcome="denied",resource="jobs",webhook="validate"} 1.0'
    assert row in text
    assert 'sluice_admission_failures_total{reason="bad_request"} 1.0' in text
    assert 'sluice_admission_duration_seconds_count{webhook="validate"} 1.0' in text
    assert "sluice_admission_warnings_total 1.0" in text


def test_shutdown_finishes_what_is_in_flight(tmp_path):
    """A request that is being reviewed when the listener stops still gets its verdict; a new one finds no port."""

    async def go():
        entered, release = asyncio.Event(), asyncio.Event()

        class Held(ScriptedEngine):
            async def ask(self, questions):
                entered.set()
                await release.wait()

        verdicts = iter([NeedsFacts((Check(user="ann", verb="use"),)), Verdict(allowed=True)])
        async with serve(tmp_path, Held(on_validate=lambda _: next(verdicts))) as served:
            pending = asyncio.create_task(served.post("/validate", json=review()))
            await entered.wait()
            stopping = asyncio.create_task(served.listener.stop())
            while True:  # the port closes at once, the request goes on
                try:
                    await served.text("/livez")
                except aiohttp.ClientError:
                    break
                await asyncio.sleep(0.01)
            release.set()
            answer = await pending
            await stopping
            return answer

    status, body = asyncio.run(go())
    assert (status, body["response"]["allowed"]) == (200, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [("9443", "HOST:PORT"), ("host:", "end in a port"), ("host:port", "end in a port"), ("h:99999", "end in a port")],
)
def test_addresses_are_checked(text, message):
    """What is no HOST:PORT is refused with the text that was given."""
    with pytest.raises(ValueError, match=f'"{text}" .*{message}'):
        host_and_port(text)


def test_addresses_are_read():
    """Hosts, IPv6 addresses and the empty host are understood."""
    assert host_and_port("[::1]:8443") == ("::1", 8443)
    assert host_and_port(":9443") == ("", 9443)


def test_counting_made_up_resources_is_bounded():
    """A sender that names a new resource each time does not fill the memory; the sum stays right."""
    metrics = ServerMetrics()
    for number in range(MAX_COMBINATIONS + 500):
        metrics.reviewed("validate", "CREATE", f"made-up-{number}", "allowed")
    metrics.reviewed("validate", "CREATE", "made-up-0", "allowed")
    assert len(metrics.reviews) == MAX_COMBINATIONS + 1
    assert metrics.reviews["validate", "CREATE", "other", "allowed"] == 500
    assert metrics.reviews["validate", "CREATE", "made-up-0", "allowed"] == 2


def test_reviews_go_on_while_metrics_are_written(tmp_path):
    """The text of many queues takes long; whoever asks for it keeps nobody else waiting."""
    answered = threading.Event()

    class Slow(Collector):
        def collect(self):
            assert answered.wait(PATIENCE), "no review was answered meanwhile"
            yield GaugeMetricFamily("slow", "Written once a review was answered.", value=1)

    async def go():
        async with serve(tmp_path) as served:
            served.registry.register(Slow())
            asked = asyncio.create_task(served.text("/metrics"))
            await asyncio.sleep(0.05)
            status, _ = await served.post("/validate", json=review())
            answered.set()
            return status, await asked

    status, (scraped, text) = asyncio.run(go())
    assert (status, scraped) == (200, 200)
    assert "slow 1.0" in text
