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
WITHIN = """() => document.documentElement.scrollWidth <= innerWidth
  && [...document.querySelectorAll(".part, .side, .figure, dd")]
    .every((part) => part.scrollWidth <= part.clientWidth)"""


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


@pytest.mark.parametrize("look", LOOKS)
def test_what_if_that_waits_stays_within_its_side(browser, small, look):
    with reader(browser, small.url, LOOKS[look]) as seen:
        page = seen.open(small.url + VIEWS["job"].replace("gpus=3", "gpus=12"))
        assert page.locator(".side").nth(1).locator("tbody tr").count() == 2
        assert page.evaluate(WITHIN)
        assert violations(page) == []


@pytest.mark.parametrize(
    "view, part, told",
    [
        (
            "policies",
            "section:has-text('Policies in force')",
            "Times are measured in one review of 64, on this replica.",
        ),
        ("policies", "tr:has-text('gpu-integer')", "gpu-integer/policy.yaml:1 6770752"),
        ("job", "section:has-text('Why it is pending')", "1 ahead of it in vision are considered first."),
        ("simulate", "section:has-text('Mean wait by queue')", "vision\t58 min\t14 min\nserving\t2 min\t3 min"),
        ("simulate", "figure:has-text('gpu in use: today')", "quota"),
    ],
    ids=["how times are measured", "digest of a policy", "who is ahead", "who waits longer", "the dotted line"],
)
def test_what_a_view_says(read, small, view, part, told):
    address = VIEWS[view].replace("segment-7b-4f2a1", "depth-9c31e") if "ahead" in told else VIEWS[view]
    page = read.open(small.url + address)
    assert told in page.locator(f"main {part}").first.inner_text()


def test_a_form_without_a_change_is_asked_too(read, small):
    """The server says what is missing; nothing at all would look like a broken button."""
    page = read.open(small.url + "#/simulate")
    with page.expect_response(lambda response: "/ui/api/simulate?" in response.url):
        page.click("button[type=submit]")
