"""Each view opens as every reader sees it: whole, within the screen, and with nothing that axe-core would mend."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.dashboard.browser.chromium import LOOKS, VIEWS, reader

HEADINGS = {
    "cluster": "Cluster",
    "queue": "vision",
    "job": "PyTorchJob/segment-7b",
    "policies": "Policies",
    "simulate": "Simulate",
    "find": "Found for “e”",
}
WITHIN = "document.documentElement.scrollWidth <= innerWidth"


def violations(page):
    """What axe-core finds, in a line each."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("view", VIEWS)
def test_view_opens(browser, small, view, look):
    with reader(browser, small.url, LOOKS[look]) as seen:
        page = seen.open(small.url + VIEWS[view])
        heading = page.inner_text("h1")
        assert page.evaluate(WITHIN)
        assert violations(page) == []
        if LOOKS[look].language == "en":
            assert heading == HEADINGS[view]
        else:
            assert page.get_attribute("html", "lang") == "zh"


@pytest.mark.parametrize("look", ["light", "phone"])
@pytest.mark.parametrize("view", VIEWS)
def test_names_are_text(browser, spoiled, view, look):
    """No name becomes an element or runs, however it is written; none is wider than the screen."""
    with reader(browser, spoiled.url, LOOKS[look]) as seen:
        page = seen.open(spoiled.url + VIEWS[view])
        assert page.locator("main img").count() == 0
        assert "taken" not in page.title()
        assert page.evaluate(WITHIN)
        if view != "simulate":
            assert "<img src=x" in page.inner_text("main")


def test_what_is_not_there(read, small):
    """An address of nothing says so and leads back; a queue that is none says so too."""
    page = read.open(small.url + "#/nothing")
    assert page.inner_text("h1") == "There is no such page."
    read.patient.append("404")
    page = read.open(small.url + "#/queues/none-such")
    assert "It does not exist" in page.inner_text("[role=alert]")
