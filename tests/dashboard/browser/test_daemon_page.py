"""The page of a running daemon in a browser: a job waits, quota comes free, and the page shows it."""

from contextlib import asynccontextmanager

import pytest

from tests.cluster.small_cluster import job
from tests.daemon.serving import policies  # noqa: F401 - a fixture
from tests.dashboard.browser.aside import aside
from tests.dashboard.browser.chromium import reader
from tests.dashboard.serving import reading


@asynccontextmanager
async def cluster(tmp_path, folder):
    """Two CPUs, with a job that runs on both and one that waits."""
    async with reading(tmp_path, folder) as page:
        await page.store.create(job("runs", cpu="2"))
        await page.when("/ui/api/queues/cq", lambda q: q["running"]["rows"])
        await page.store.create(job("waits", cpu="1"))
        await page.when("/ui/api/queues/cq", lambda q: q["waiting"]["rows"])
        yield page


@pytest.fixture
def running(tmp_path, policies):  # noqa: F811
    with aside(cluster(tmp_path, policies)) as made:
        yield made


def test_every_view_and_a_change(browser, running):
    """What the daemon says is on the page; when the running job ends, the other one is seen to run."""
    url = running.given.url + "/ui/"
    with reader(browser, url) as seen:
        page = seen.open(url)
        assert page.inner_text("[data-key='queue:cq'] .figures") == "2 / 2"
        page.click("a:text-is('cq')")
        page.click("a:has-text('Job/waits')")
        page.wait_for_selector("h1:text-is('Job/waits')")
        page.wait_for_selector(".clause:has-text('how much is free?')")
        assert "Job/runs" in page.inner_text("main table")
        page.fill("#gpus", "2")
        page.keyboard.press("Enter")
        page.wait_for_selector(".side >> nth=1")
        assert "2 cpu" in page.inner_text(".sides")
        for address, heading in (
            ("#/policies", "Policies"),
            ("#/simulate", "Simulate"),
            ("#/find?text=waits", "Found"),
        ):
            assert seen.open(url + address).inner_text("h1").startswith(heading)
        page = seen.open(url + "#/queues/cq")
        assert page.locator("tr:has-text('Job/waits')").count() == 1
        running.do(running.given.kubelet.end("runs"))
        page.wait_for_selector("section:has(h2:has-text('Running')) tr:has-text('Job/waits')")


def test_nothing_to_simulate(browser, running):
    """Before a job has finished the form is there, and says so; an address that asks for more is no error."""
    url = running.given.url + "/ui/"
    with reader(browser, url) as seen:
        for query in ("", "?queue=cq&resource=cpu&quota=4"):
            page = seen.open(f"{url}#/simulate{query}")
            page.wait_for_selector("p:has-text('No job has finished yet')")
            assert page.locator("form.form #quota").count() == 1


def test_simulation_of_what_ran(browser, running):
    """What cannot be simulated is said, and the form stays; a quota that is doubled is answered."""
    running.do(running.given.kubelet.end("runs"))
    running.do(running.given.when("/ui/api/simulate?queue=cq&resource=cpu&quota=4", lambda s: s["today"]["jobs"] == 1))
    url = running.given.url + "/ui/"
    with reader(browser, url) as seen:
        seen.patient.append("400")
        page = seen.open(url + "#/simulate")
        page.fill("#queue", "cq")
        page.wait_for_selector("p:has-text('1 recorded jobs')")
        page.fill("#quota", "many")
        page.keyboard.press("Enter")
        page.wait_for_selector("#quota-problem:has-text('many is not a quantity')")
        assert page.get_attribute("#quota", "aria-invalid") == "true"
        assert page.input_value("#queue") == "cq"
        assert page.inner_text("#quota-hint") == "today: 2"
        page.fill("#quota", "4")
        page.keyboard.press("Enter")
        page.wait_for_selector("h2:text-is('Compared, all queues')")
        assert page.locator(".plots figure").count() >= 2
